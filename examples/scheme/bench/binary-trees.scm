; sweep: short
; stress: 20000
; Trees of pairs: many that die beside one that lives.
(define (make-tree depth)
  (if (= depth 0) (cons '() '()) (cons (make-tree (- depth 1)) (make-tree (- depth 1)))))
(define (check tree)
  (if (null? (car tree)) 1 (+ 1 (check (car tree)) (check (cdr tree)))))
(define most 14)
(define long-lived (make-tree most))
(do ((depth 4 (+ depth 2))) ((> depth most))
  (let ((trees (expt 2 (+ (- most depth) 4))))
    (let loop ((i 0) (sum 0))
      (if (= i trees)
          (begin (display (list trees depth sum)) (newline))
          (loop (+ i 1) (+ sum (check (make-tree depth))))))))
(display (check long-lived))
(newline)
