; sweep: short
; stress: 20000
; Building strings: numbers to text, joined in pairs, again and again.
(define (texts from to)
  (if (= (+ from 1) to)
      (string-append (number->string from) ",")
      (let ((middle (quotient (+ from to) 2))) (string-append (texts from middle) (texts middle to)))))
(define (count-commas text)
  (let loop ((parts (string->list text)) (count 0))
    (if (null? parts) count (loop (cdr parts) (if (char=? (car parts) #\,) (+ count 1) count)))))
(let loop ((i 0) (sum 0))
  (if (= i 30)
      (begin (display sum) (newline))
      (loop (+ i 1) (+ sum (count-commas (texts (* i 10) (+ (* i 10) 8000)))))))
