; stress: 5000
; sweep: short
; options: --stack=4M
; Recursion without end is an error, and the program goes on.
(define (forever n) (+ 1 (forever (+ n 1))))
(define (caught thunk) (guard (e ((error-object? e) (error-object-message e))) (thunk)))
(display (caught (lambda () (forever 0)))) (newline)
(define (nest n) (if (= n 0) '() (list (nest (- n 1)))))
(define (deep-list n) (let loop ((i 0) (l '())) (if (= i n) l (loop (+ i 1) (list l)))))
(display (caught (lambda () (equal? (deep-list 200000) (deep-list 200000))))) (newline)
(display (caught (lambda () (dynamic-wind (lambda () #f) (lambda () (forever 0)) (lambda () (display "left ")))))) (newline)
(define (winding n) (dynamic-wind (lambda () #f) (lambda () (+ 1 (winding (+ n 1)))) (lambda () #f)))
(display (caught (lambda () (winding 0)))) (newline)
(display (caught (lambda () (apply + (vector->list (make-vector 200000 1)))))) (newline)
(display (apply + (vector->list (make-vector 50000 1)))) (newline)
(define (sum n) (if (= n 0) 0 (+ n (sum (- n 1)))))
(display (sum 3000)) (newline)
(with-exception-handler (lambda (e) (display "never called")) (lambda () (forever 0)))
