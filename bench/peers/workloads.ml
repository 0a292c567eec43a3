(* Workloads of the suite in OCaml: workloads NAME SIZE SLOTS RUNS prints a line of seconds and checksum for each run. *)

(* --- binary-trees --- *)

type tree = Leaf | Tree of tree * tree

(* The leaves are objects in the other languages: here a node without children is one, too. *)
let rec make depth = if depth = 0 then Tree (Leaf, Leaf) else
  let left = make (depth - 1) in
  Tree (left, make (depth - 1))

let rec count = function
  | Tree (Leaf, _) | Leaf -> 1
  | Tree (left, right) -> 1 + count left + count right

let binary_trees most _ =
  let sum = ref (count (make (most + 1))) in
  let kept = make most in
  let depth = ref 4 in
  while !depth <= most do
    for _ = 1 to 1 lsl (most - !depth + 4) do sum := !sum + count (make !depth) done;
    depth := !depth + 2
  done;
  !sum + count kept

(* --- gcbench --- *)

type node = Empty | Node of { mutable left : node; mutable right : node; i : int; j : int }

let fresh left right = Node { left; right; i = 0; j = 0 }

let rec populate depth = function
  | Node n when depth > 0 ->
    n.left <- fresh Empty Empty;
    n.right <- fresh Empty Empty;
    populate (depth - 1) n.left;
    populate (depth - 1) n.right
  | _ -> ()

let make_down depth = let n = fresh Empty Empty in populate depth n; n

let rec make_up depth = if depth = 0 then fresh Empty Empty else
  let left = make_up (depth - 1) in
  fresh left (make_up (depth - 1))

let rec left_depth = function Node { left = Node _ as left; _ } -> 1 + left_depth left | _ -> 0
let rec count_nodes = function Empty -> 0 | Node n -> 1 + count_nodes n.left + count_nodes n.right
let nodes_of depth = (2 lsl depth) - 1

let gcbench stretch _ =
  let most = stretch - 2 in
  let numbers_length = if stretch < 18 then 500000 lsr (18 - stretch) else 500000 in
  let sum = ref (left_depth (make_up stretch)) in
  let long_lived = make_down most in
  let numbers = Array.make numbers_length 0.0 in
  for i = 0 to numbers_length / 2 - 1 do numbers.(i) <- 1.0 /. float (i + 1) done;
  let depth = ref 4 in
  while !depth <= most do
    let trees = 2 * nodes_of stretch / nodes_of !depth in
    for _ = 1 to trees do sum := !sum + left_depth (make_down !depth) done;
    for _ = 1 to trees do sum := !sum + left_depth (make_up !depth) done;
    depth := !depth + 2
  done;
  if numbers.(9) <> 0.1 then failwith "the long-lived array changed";
  !sum + count_nodes long_lived

(* --- tuples --- *)

let tuples rounds slots =
  let all = Array.make slots (0, 0, 0) in
  for round = 0 to rounds - 1 do
    for i = 0 to slots - 1 do all.(i) <- (2 * i + 1, 2 * (i + 1) + 1, 2 * (i + round) + 1) done
  done;
  Array.fold_left (fun sum (a, b, c) -> sum + a + 3 * b + 5 * c) 0 all

(* --- store --- *)

type cell = Nil | Cell of { next : cell; number : int }

let store steps slots =
  let all = Array.make slots Nil in
  Gc.minor ();
  let state = ref 1 in
  for number = 1 to steps do
    state := (!state * 1103515245 + 12345) land 0x7fffffff;
    all.((!state * slots) lsr 31) <- Cell { next = Nil; number }
  done;
  Array.fold_left (fun sum cell -> match cell with Nil -> sum | Cell { number; _ } -> sum + number) 0 all

let () =
  let run = match Sys.argv.(1) with
    | "binary-trees" -> binary_trees
    | "gcbench" -> gcbench
    | "tuples" -> tuples
    | "store" -> store
    | "string-cache" -> Everyday.string_cache
    | "tree-map" -> Everyday.tree_map
    | "json" -> Everyday.json
    | "symbols" -> Everyday.symbols
    | name -> prerr_endline (name ^ ": no such workload"); exit 2 in
  let number i = int_of_string Sys.argv.(i) in
  for _ = 1 to number 4 do
    let begun = Unix.gettimeofday () in
    let sum = run (number 2) (number 3) in
    Printf.printf "%.6f %d\n%!" (Unix.gettimeofday () -. begun) sum
  done
