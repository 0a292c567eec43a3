(* The four everyday programs of the suite in OCaml: bench/everyday.h, string_cache.c, tree_map.c, json.c and symbols.c say
   what they do. Numbers are drawn and folded as there, so that the checksums agree. *)

(* --- numbers and texts --- *)

let low_32 = 0xffffffff
let seed = 1

let below state bound =
  state := (!state * 1103515245 + 12345) land 0x7fffffff;
  (!state * bound) lsr 31

let skewed state bound =
  let a = below state bound in
  let b = below state bound in
  if a < b then a else b

let mix number =
  let x = (number * 2654435761) land low_32 in
  let x = ((x lxor (x lsr 16)) * 2246822519) land low_32 in
  x lxor (x lsr 13)

let fold sum number = (sum * 31 + number) land low_32

(* A text outside of what the programs keep. *)
type text = { data : Bytes.t; mutable length : int }

let new_text () = { data = Bytes.create 104; length = 0 }

let write text number least most =
  text.length <- least + mix number mod (most - least + 1);
  for i = 0 to 5 do Bytes.unsafe_set text.data i (Char.unsafe_chr (65 + ((number lsr (5 * i)) land 31))) done;
  Bytes.fill text.data 6 (text.length - 6) (Char.unsafe_chr (97 + number mod 26))

let contents text = Bytes.sub_string text.data 0 text.length

let hash_of data length =
  let hash = ref (2166136261 lxor length) in
  for i = 0 to (if length < 16 then length else 16) - 1 do
    hash := ((!hash lxor Char.code (Bytes.unsafe_get data i)) * 16777619) land low_32
  done;
  !hash

let hash_text text = hash_of text.data text.length
let hash_string s = hash_of (Bytes.unsafe_of_string s) (String.length s)
let last_character s = Char.code s.[String.length s - 1]

(* Eight characters at a time, as memcmp does. *)
let rec same_rest data s i length =
  i = length || (Bytes.unsafe_get data i = String.unsafe_get s i && same_rest data s (i + 1) length)

let rec same data s i length =
  if i + 8 > length then same_rest data s i length
  else Int64.equal (Bytes.get_int64_ne data i) (String.get_int64_ne s i) && same data s (i + 8) length

let is_text text s = String.length s = text.length && same text.data s 0 text.length

let table_length capacity =
  let length = ref 1 in
  while !length < capacity do length := 2 * !length done;
  !length

(* --- string-cache --- *)

type cached = {
  mutable chain : cached; mutable newer : cached; mutable older : cached;
  key : string; mutable value : string; hash : int
}

let rec none = { chain = none; newer = none; older = none; key = ""; value = ""; hash = 0 }

type cache = { table : cached array; mutable newest : cached; mutable oldest : cached; mutable count : int }

let unlink_used c e =
  if e.newer != none then e.newer.older <- e.older else c.newest <- e.older;
  if e.older != none then e.older.newer <- e.newer else c.oldest <- e.newer

let make_newest c e =
  if e != c.newest then begin
    unlink_used c e;
    e.newer <- none;
    e.older <- c.newest;
    c.newest.newer <- e;
    c.newest <- e
  end

let take_oldest_out c =
  let oldest = c.oldest in
  let at = oldest.hash land (Array.length c.table - 1) in
  let rec before e = if e.chain == oldest then e else before e.chain in
  if c.table.(at) == oldest then c.table.(at) <- oldest.chain else (before c.table.(at)).chain <- oldest.chain;
  unlink_used c oldest;
  c.count <- c.count - 1

let add c key value hash =
  let at = hash land (Array.length c.table - 1) in
  let e = { chain = c.table.(at); newer = none; older = c.newest; key; value; hash } in
  c.table.(at) <- e;
  if c.newest != none then c.newest.newer <- e else c.oldest <- e;
  c.newest <- e;
  c.count <- c.count + 1

let rec find_cached key hash e =
  if e == none || (e.hash = hash && is_text key e.key) then e else find_cached key hash e.chain

let string_cache steps capacity =
  let c = { table = Array.make (table_length capacity) none; newest = none; oldest = none; count = 0 } in
  let state = ref seed and sum = ref 0 and hits = ref 0 in
  let key = new_text () and value = new_text () in
  let next_value () = write value (below state (1 lsl 29)) 16 100 in
  for _ = 1 to steps do
    write key (skewed state (2 * capacity)) 16 100;
    let hash = hash_text key in
    let e = find_cached key hash c.table.(hash land (Array.length c.table - 1)) in
    if e == none then begin
      next_value ();
      if c.count = capacity then take_oldest_out c;
      let key = contents key in
      add c key (contents value) hash
    end else begin
      make_newest c e;
      incr hits;
      sum := fold !sum ((String.length e.value lsl 8) lor last_character e.value);
      if !hits land 7 = 0 then begin
        next_value ();
        e.value <- contents value
      end
    end
  done;
  let rec fold_all sum e =
    if e == none then sum else fold_all (fold (fold sum e.hash) (hash_string e.value)) e.older in
  fold_all (fold !sum !hits) c.newest

(* --- tree-map --- *)

type map = Empty | Node of { left : map; right : map; key : int; priority : int; value : int }

let rec split t key = match t with
  | Empty -> Empty, Empty
  | Node n when key < n.key -> let left, right = split n.left key in left, Node { n with left = right }
  | Node n -> let left, right = split n.right key in Node { n with right = left }, right

let rec set t key priority value = match t with
  | Node n when n.key = key -> Node { n with value }
  | Node n when n.priority >= priority ->
    if key < n.key then Node { n with left = set n.left key priority value }
    else Node { n with right = set n.right key priority value }
  | _ -> let left, right = split t key in Node { left; right; key; priority; value }

let rec merge left right = match left, right with
  | Empty, t | t, Empty -> t
  | Node l, Node r ->
    if l.priority >= r.priority then Node { l with right = merge l.right right }
    else Node { r with left = merge left r.left }

let rec without t key = match t with
  | Empty -> Empty
  | Node n when n.key = key -> merge n.left n.right
  | Node n -> if key < n.key then Node { n with left = without n.left key } else Node { n with right = without n.right key }

(* The value of a key, 0 where it is not there. *)
let rec find t key = match t with
  | Empty -> 0
  | Node n -> if key = n.key then n.value else find (if key < n.key then n.left else n.right) key

let tree_map steps live =
  let versions = Array.make 64 Empty in
  let state = ref seed and sum = ref 0 and newest = ref 0 and keys = 2 * live in
  let change key value =
    let t = versions.(!newest) in
    if value <> 0 || find t key <> 0 then begin
      newest := (!newest + 1) land 63;
      versions.(!newest) <- if value = 0 then without t key else set t key (mix key) value
    end in
  for i = 0 to live - 1 do change (2 * i) (2 * i + 1) done;
  for i = 1 to steps do
    let what = below state 4 in
    let key = below state keys in
    if what < 2 then sum := fold !sum (find versions.(below state 64) key)
    else change key (if what = 2 then i else 0)
  done;
  let nodes = ref 0 in
  let rec fold_all sum = function
    | Empty -> sum
    | Node n -> incr nodes; fold_all (fold (fold (fold_all sum n.left) n.key) n.value) n.right in
  let sum = fold_all !sum versions.(!newest) in
  fold sum !nodes

(* --- json --- *)

type json =
  | Null | False | True
  | Integer of int
  | Number of float
  | String of string
  | Array of json array
  | Object of { keys : string array; values : json array }

let numbers = 1 lsl 20

let json documents live =
  let state = ref seed and sum = ref 0 and text = new_text () in
  let string range most = write text (below state range) 6 most; contents text in
  let children nodes = let count = 2 + below state 8 in if count < nodes then count else nodes - 1 in
  let rec build nodes =
    if nodes > 2 && below state 4 <> 0 then
      if below state 3 = 0 then build_array nodes else build_object nodes
    else match below state 8 with
      | 0 -> (match below state 3 with 0 -> Null | 1 -> False | _ -> True)
      | 1 | 2 -> Integer (below state numbers)
      | 3 -> Number (float (below state numbers) /. 4.)
      | _ -> String (string (1 lsl 29) 40)
  and build_array nodes =
    let count = children nodes in
    let items = Array.make count Null in
    for i = 0 to count - 1 do items.(i) <- build ((nodes - 1) / count) done;
    Array items
  and build_object nodes =
    let count = children nodes in
    let keys = Array.make count "" and values = Array.make count Null in
    for i = 0 to count - 1 do
      keys.(i) <- string 1000 12;
      values.(i) <- build ((nodes - 1) / count)
    done;
    Object { keys; values } in
  let add number = sum := fold !sum number in
  let add_string s = add ((String.length s lsl 8) lor last_character s) in
  let rec fold_all = function
    | Null -> add 0
    | False -> add 1
    | True -> add 2
    | Integer n -> add n
    | Number x -> add (int_of_float (4. *. x))
    | String s -> add_string s
    | Array items -> add (Array.length items); Array.iter fold_all items
    | Object { keys; values } ->
      add (Array.length keys);
      Array.iteri (fun i key -> add_string key; fold_all values.(i)) keys in
  let window = Array.make live Null in
  for i = 0 to documents - 1 do
    let at = i mod live in
    if window.(at) != Null then fold_all window.(at);
    window.(at) <- build_object 1000
  done;
  Array.iter (fun document -> if document != Null then fold_all document) window;
  !sum

(* --- symbols --- *)

type symbol = { mutable chain : symbol; mutable declared : declared; name : string; hash : int }
and declared = { symbol : symbol; hidden : declared; next : declared; number : int }

let rec nobody = { chain = nobody; declared = nothing; name = ""; hash = 0 }
and nothing = { symbol = nobody; hidden = nothing; next = nothing; number = 0 }

type scope = Outermost | Scope of { outer : scope; mutable first : declared }

let rec find_symbol name hash s =
  if s == nobody || (s.hash = hash && is_text name s.name) then s else find_symbol name hash s.chain

let symbols sources identifiers =
  let state = ref seed and sum = ref 0 and declarations = ref 0 and name = new_text () in
  let table = ref [||] and count = ref 0 and scope = ref Outermost and depth = ref 0 in
  let grow () =
    let from = !table in
    let fresh = Array.make (2 * Array.length from) nobody in
    let rec move s =
      if s != nobody then begin
        let next = s.chain and at = s.hash land (Array.length fresh - 1) in
        s.chain <- fresh.(at);
        fresh.(at) <- s;
        move next
      end in
    Array.iter move from;
    table := fresh in
  let intern () =
    write name (skewed state identifiers) 6 24;
    let hash = hash_text name in
    let found = find_symbol name hash !table.(hash land (Array.length !table - 1)) in
    if found != nobody then found
    else begin
      if !count = Array.length !table then grow ();
      let at = hash land (Array.length !table - 1) in
      let fresh = { chain = !table.(at); declared = nothing; name = contents name; hash } in
      !table.(at) <- fresh;
      incr count;
      fresh
    end in
  let use () = sum := fold !sum (intern ()).declared.number in
  let declare () = match !scope with
    | Outermost -> failwith "no scope is open"
    | Scope s ->
      let symbol = intern () in
      incr declarations;
      let fresh = { symbol; hidden = symbol.declared; next = s.first; number = !declarations } in
      symbol.declared <- fresh;
      s.first <- fresh in
  let open_scope () = scope := Scope { outer = !scope; first = nothing }; incr depth in
  let close_scope () = match !scope with
    | Outermost -> failwith "no scope is open"
    | Scope s ->
      let rec undo d =
        if d != nothing then begin
          sum := fold !sum d.number;
          d.symbol.declared <- d.hidden;
          undo d.next
        end in
      undo s.first;
      scope := s.outer;
      decr depth in
  for _ = 1 to sources do
    table := Array.make 64 nobody;
    count := 0;
    open_scope ();
    for _ = 1 to 10 * identifiers do
      let drawn = below state 100 in
      if drawn < 5 && !depth < 50 then open_scope ()
      else if drawn >= 5 && drawn < 10 && !depth > 1 then close_scope ()
      else if drawn >= 10 && drawn < 25 then declare ()
      else use ()
    done;
    while !depth > 0 do close_scope () done;
    sum := fold !sum !count
  done;
  !sum
