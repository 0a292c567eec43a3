(define (f)
  (let ((x 1)
        (2 y))
    x))
