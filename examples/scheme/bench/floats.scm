; sweep: short
; stress: 20000
; The Mandelbrot set: each result of the arithmetic is a new object.
(define size 200)
(define limit 60)
(define (steps cr ci)
  (let loop ((zr 0.0) (zi 0.0) (i 0))
    (let ((rr (* zr zr)) (ii (* zi zi)))
      (if (or (= i limit) (> (+ rr ii) 4.0))
          i
          (loop (+ (- rr ii) cr) (+ (* 2.0 zr zi) ci) (+ i 1))))))
(let rows ((y 0) (sum 0))
  (if (= y size)
      (begin (display sum) (newline))
      (rows (+ y 1)
            (let columns ((x 0) (sum sum))
              (if (= x size)
                  sum
                  (columns (+ x 1) (+ sum (steps (- (/ (* 3.0 x) size) 2.0) (- (/ (* 2.0 y) size) 1.0)))))))))
