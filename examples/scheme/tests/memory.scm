; stress: 5000
; sweep: short
; variables: CRADLE_GC_MAX=80M
; Endless allocation is an error, and the program goes on.
(define (caught thunk) (guard (e ((error-object? e) (error-object-message e))) (thunk)))
(define (fill l) (fill (cons (make-vector 1000 l) l)))
(display (caught (lambda () (fill '())))) (newline)
(display (caught (lambda () (make-vector 100000000)))) (newline)
(display (caught (lambda () (make-string 400000000000000000)))) (newline)
(define (double s) (double (string-append s s)))
(display (caught (lambda () (double "ab")))) (newline)
(define t (make-hash-table))
(define (grow i) (hash-table-set! t i i) (grow (+ i 1)))
(display (caught (lambda () (grow 0)))) (newline)
(display (> (hash-table-count t) 10000)) (newline)
(hash-table-clear! t)
(display (caught (lambda () (fill '())))) (newline)
(display (length (let loop ((i 0) (l '())) (if (= i 10000) l (loop (+ i 1) (cons i l)))))) (newline)
(fill '())
