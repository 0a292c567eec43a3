; stress: 20000
; sweep: short
; variables: CRADLE_GC_MAX=80M
; Memory runs out while a global variable holds it: there is room to handle the error and to let go, each time.
(define keep '())
(define (fill) (set! keep (cons (make-vector 100 keep) keep)) (fill))
(define (report e) (string-append "caught: " (error-object-message e)))
(define (attempt)
  (let ((said (guard (e (#t (list (report e) (map (lambda (x) (* x x)) '(1 2 3)))))
                (fill))))
    (set! keep '())
    said))
(define (repeat n) (if (> n 0) (begin (write (attempt)) (newline) (repeat (- n 1)))))
(repeat 4)
; What holds it is let go in the handler, or inside of another guard.
(display (guard (e (#t (set! keep '()) (report e))) (fill))) (newline)
(display (guard (e (#t (guard (f (#t (display "inner ") (set! keep '()) (report f))) (raise e)))) (fill))) (newline)
; Nobody lets go.
(guard (e (#t (display "full"))) (fill))
