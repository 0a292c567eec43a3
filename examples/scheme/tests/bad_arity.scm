(define (f x) x)
(display "before")
(newline)
(f 1
   2)
