; sweep: short
; stress: 20000
; A hash table whose keys, strings and numbers, come and go.
(define table (make-hash-table))
(define live 20000)
(define (key i) (if (even? i) i (number->string i)))
(let loop ((i 0))
  (if (< i 300000)
      (begin
        (hash-table-set! table (key i) (list i))
        (if (>= i live) (hash-table-delete! table (key (- i live))))
        (loop (+ i 1)))))
(display (hash-table-size table))
(newline)
(let loop ((i 280000) (sum 0))
  (if (= i 300000)
      (begin (display sum) (newline))
      (loop (+ i 1) (+ sum (car (hash-table-ref table (key i) (lambda () (list 0))))))))
