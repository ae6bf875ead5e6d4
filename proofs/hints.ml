(* Hints for the kernel: distances, and multipliers where a certificate has a shorter form. Nothing
   here needs to be trusted: the kernel tests the distances it uses, and all multipliers. *)

module Whole = Z
open Kernel
module Z = Whole
open Reader

let near_of table = Array.of_list (List.map (fun (_, near) -> List.map Z.to_int near) table)

(* Breadth-first search; -1 where nothing leads. The order of the search comes with it. *)
let search near source =
  let n = Array.length near in
  let far = Array.make n (-1) and parent = Array.make n (-1) and order = Array.make n source in
  far.(source) <- 0;
  let filled = ref 1 and at = ref 0 in
  while !at < !filled do
    let i = order.(!at) in
    List.iter (fun h -> if far.(h) < 0 then begin
      far.(h) <- far.(i) + 1; parent.(h) <- i; order.(!filled) <- h; incr filled end) near.(i);
    incr at
  done;
  far, parent, Array.sub order 0 !filled

(* Distances in a graph, one source at a time; -1 where nothing leads. *)
let distances table =
  let near = near_of table in
  let last = ref Z.minus_one and far = ref [||] in
  fun source answer ->
    if not (Z.equal !last source) then begin
      let found, _, _ = search near (Z.to_int source) in
      last := source;
      far := found
    end;
    z !far.(Z.to_int answer)

(* The multipliers that send what every answer has left to a root, along a tree of shortest ways. A
   surplus s at c is worth α·s at the next answer p, since x_c >= α·x_p; a debt costs s/α there. *)
let eliminate near alpha root left =
  let _, parent, order = search near root in
  let table = Hashtbl.create 64 in
  for at = Array.length order - 1 downto 1 do
    let c = order.(at) in
    let p = parent.(c) in
    let a = alpha c p in
    if Z.sign left.(c) >= 0 then begin
      Hashtbl.replace table (p, c) left.(c);
      left.(p) <- Z.add left.(p) (Z.shift_right (Z.mul a left.(c)) 62)
    end else if Z.sign a > 0 then begin
      let m = Z.cdiv (Z.neg (Z.shift_left left.(c) 62)) a in
      Hashtbl.replace table (c, p) m;
      left.(p) <- Z.sub left.(p) m
    end
  done;
  fun i h -> try Hashtbl.find table (i, h) with Not_found -> Z.zero

let certificate numbers kind told f c limited path bound =
  let near = near_of (table f) in
  let fine = Z.to_int fine in
  let numbers name count low high =
    let listed = take (numbers name Z.one (z count) low high) in
    Array.init count (fun i -> listed (z i)) in
  let n = Z.to_int f.nodes and g = Z.to_int c.guesses in
  let prior, total = match c.prior with Some p -> p | None -> refuse "the consumer needs a prior" in
  let bits () = let b = small 401 (get "bits" (match told with Object o -> o | _ -> [])) in
    need (b > 0) "a certificate has bits"; b in
  let weighed o = need (is_null (get "weight" o) = (limited = None)) "the weight of a limit belongs to a limit" in
  need (limited = None || List.mem kind ["multipliers"; "tree"]) "a limit goes with multipliers or a tree";
  let alphas = Array.of_list (List.map alpha_of (levels f)) in
  let alpha i h =
    let rec int = function O -> 0 | S m -> 1 + int m in
    alphas.(int (which f (z i) (z h))) in
  let unit = match limited with
    | None -> cost_unit f c | Some m -> Z.mul (cost_unit f c) (parts c m) in
  let scale () = two (bits () + fine) in
  let blank = { scale = Z.one; price = (fun _ -> Z.zero); multiplier = (fun _ _ _ -> Z.zero); arcs = []; bound } in
  let costs k i = match limited with
    | None -> Z.shift_left (cost f c k i) (bits () + fine)
    | Some m -> limited_cost f c m { blank with scale = scale () } k i in
  let tree = Array.fold_left (fun s l -> s + List.length l) 0 near = 2 * (n - 1) in
  let single = Array.length alphas = 1 in
  let last = ref (-1) and table = ref (fun _ _ -> Z.zero) in
  let by_guess make k i h =
    if !last <> Z.to_int k then (last := Z.to_int k; table := make !last);
    !table (Z.to_int i) (Z.to_int h) in
  let sent root price k = eliminate near alpha (root k)
      (Array.init n (fun i -> Z.sub (costs (z k) (z i)) price.(i))) in
  let hinted price make =
    { blank with scale = scale (); price = (fun i -> price.(Z.to_int i)); multiplier = by_guess make } in
  let priced () = Array.map (fun p -> Z.shift_left (Z.mul p unit) fine)
      (numbers "prices" n (Z.neg (two 511)) (two 511)) in
  match kind with
  | "multipliers" ->
    let o = take (fields ["arcs"; "bits"; "kind"; "weight"] told) in
    weighed o;
    let bits = bits () and many = small (1 lsl 40) (get "arcs" o) in
    let price = numbers "prices" n (Z.neg (two 511)) (two 511) in
    let guess = numbers "arc_guess" many Z.zero (z g) and start = numbers "arc_from" many Z.zero (z n)
    and finish = numbers "arc_to" many Z.zero (z n) and value = numbers "arc_value" many Z.zero (two 511) in
    let all = Hashtbl.create (2 * many) in
    let key k i h = Z.to_int k, Z.to_int i, Z.to_int h in
    Array.iteri (fun a v ->
      need (a = 0 || Z.leq guess.(a - 1) guess.(a)) "multipliers must be sorted by guess";
      let key = key guess.(a) start.(a) finish.(a) in
      let before = try Hashtbl.find all key with Not_found -> Z.zero in
      Hashtbl.replace all key (Z.add before (Z.mul v unit))) value;
    { scale = two bits; price = (fun i -> Z.mul price.(Z.to_int i) unit);
      multiplier = (fun k i h -> try Hashtbl.find all (key k i h) with Not_found -> Z.zero);
      arcs = List.combine (Array.to_list start) (Array.to_list finish); bound }
  | "tree" ->
    weighed (take (fields ["bits"; "kind"; "weight"] told));
    need tree "this is no tree";
    let price = priced () and place = numbers "places" g Z.zero (z n) in
    hinted price (sent (fun k -> Z.to_int place.(k)) price)
  | "line" ->
    ignore (take (fields ["bits"; "kind"] told));
    let even = match c.loss with
      | Distance -> true
      | Absolute | Squared ->
        let at i = List.hd (f.label (z i)) in
        List.length (f.label Z.zero) = 1 && n > 1 && List.for_all (fun i ->
          Z.equal (Z.sub (at (i + 1)) (at i)) (Z.sub (at 1) (at 0))) (List.init (n - 1) Fun.id)
      | _ -> false in
    need (path && n > 1 && even) "a line needs a path and a loss by distance";
    let price = priced () and places = numbers "places" (n - 1) Z.zero (z (n + 1)) in
    let cuts = Array.make (n - 1) 0 and sum = ref (-1) in
    Array.iteri (fun j p -> sum := !sum + Z.to_int p; cuts.(j) <- !sum) places;
    need (!sum < n) "a cut lies behind the last guess";
    let rec root k j = if j < n - 1 && cuts.(j) < k then root k (j + 1) else j in
    hinted price (sent (fun k -> root k 0) price)
  | "phi" ->
    let o = take (fields ["bits"; "constant"; "kind"] told) in
    need (c.loss = Binary && single) "phi is for binary loss and edges of length 1";
    let constant = take (truth (get "constant" o)) in
    let y = numbers "prices" (if constant then 1 else n) (Z.neg (two 62)) Z.one in
    let price = Array.init n (fun i -> Z.shift_left (Z.add (Z.shift_left (prior (z i)) (bits ()))
        (Z.mul y.(if constant then 0 else i) total)) fine) in
    hinted price (sent Fun.id price)
  | "envelope" ->
    ignore (take (fields ["bits"; "kind"] told));
    need (c.loss = Binary && single && tree) "an envelope is for binary loss on a tree";
    let a = alphas.(0) in
    let v = Array.init n (fun i -> Z.cdiv (Z.shift_left (prior (z i)) (bits ())) total) in
    let _, parent, order = search near 0 in
    let raise_to h i = v.(h) <- Z.max v.(h) (Z.cdiv (Z.mul v.(i) a) (two 62)) in
    for at = n - 1 downto 1 do raise_to parent.(order.(at)) order.(at) done;
    for at = 1 to n - 1 do raise_to order.(at) parent.(order.(at)) done;
    (* In units of 1/(2^124 - a²): y = Φ⁻¹v, and (v_c - α·v_p)/(1 - α²) along the way from k. *)
    let square = Z.mul a a and apart = Z.shift_left a 62 in
    let price = Array.init n (fun i ->
      let around = List.fold_left (fun s h -> Z.add s v.(h)) Z.zero near.(i) in
      let degree = z (List.length near.(i) - 1) in
      let y = Z.sub (Z.mul v.(i) (Z.add (two 124) (Z.mul degree square))) (Z.mul apart around) in
      Z.sub (Z.mul (prior (z i)) (Z.shift_left (Z.sub (two 124) square) (bits ()))) (Z.mul total y)) in
    let make k =
      let _, parent, _ = search near k in
      fun p c -> if parent.(c) <> p then Z.zero else
          Z.mul total (Z.sub (Z.mul v.(c) (two 124)) (Z.mul apart v.(p))) in
    { (hinted price make) with scale = Z.shift_left (Z.sub (two 124) square) (bits ()) }
  | _ -> raise (Stop (Uncovered ("certificates of the kind " ^ kind)))
