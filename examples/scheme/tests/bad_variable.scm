(define (f x)
  (g x))
(define (g x)
  (+ 1
     (h x)))
(f 1)
