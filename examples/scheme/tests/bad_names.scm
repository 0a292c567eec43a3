; sweep: short
; A name may hold anything; its message goes to a terminal.
(define long (string->symbol (make-string 70000 #\n)))
(display "as it is: [0m")
(newline)
(error "[31mred
next line" (string->symbol "]0;title") "1m" long)
