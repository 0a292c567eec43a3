; sweep: short
; stress: 20000
; All solutions of the n queens, with lists.
(define (safe? row distance placed)
  (or (null? placed)
      (and (not (= (car placed) row))
           (not (= (car placed) (+ row distance)))
           (not (= (car placed) (- row distance)))
           (safe? row (+ distance 1) (cdr placed)))))
(define (queens n)
  (define (place k placed)
    (if (= k 0)
        1
        (let loop ((row 1) (count 0))
          (if (> row n)
              count
              (loop (+ row 1) (if (safe? row 1 placed) (+ count (place (- k 1) (cons row placed))) count))))))
  (place n '()))
(display (queens 9))
(newline)
