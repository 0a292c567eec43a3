; the third line is bad
(display "begun")
(display "ÿş")
