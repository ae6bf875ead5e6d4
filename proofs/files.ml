(* The header of a mechanism file, as the file that [Kernel.check] knows. *)

module Whole = Z
open Kernel
module Z = Whole
open Reader

let listed numbers i = numbers.(Z.to_int i)

(* -- the question ------------------------------------------------------------------------------ *)

let text_of = function Text t -> t | _ -> refuse "the question is not known"

(* A name, and what stands between its brackets. *)
let call text = match String.index_opt text '(' with
  | None -> text, []
  | Some i ->
    need (text.[String.length text - 1] = ')') "the question is not known";
    String.sub text 0 i, String.split_on_char ',' (String.sub text (i + 1) (String.length text - i - 2))

let whole_of text =
  let sound = text <> "" && String.length text <= 15 && String.for_all (fun c -> '0' <= c && c <= '9') text in
  need (sound && (text = "0" || text.[0] <> '0')) "the question is not known";
  Z.of_string text

let question ?(most = 2e6) text =
  let name, arguments = call text in
  let sizes = List.map whole_of arguments in
  let power b e = Float.pow (Z.to_float b +. 1.) (Z.to_float e) in
  let few size = if size > most then raise (Uncovered "a question of this size") in
  need (name = "tree" || not (List.mem Z.zero sizes)) "the question is not known";
  match name, sizes with
  | "count", [n] -> few (Z.to_float n); Count n
  | "sum", [u; v] -> few (Z.to_float u *. Z.to_float v); Sum (u, v)
  | "mean", [u; v] -> few (Z.to_float u *. Z.to_float v); Mean (u, v)
  | "counts", [n; k] -> few (power n k); Counts (n, k)
  | "histogram", [n; c] -> few (power n c); Histogram (n, c)
  | "count_mod", [n; m] -> few (Z.to_float m); CountMod (n, m)
  | "choice", [c] -> few (Z.to_float c); Choice c
  | "star", [k] -> few (Z.to_float k); Star k
  | "tree", [b; h] when Z.sign b > 0 -> few (power b h); Tree (b, h)
  | "path", [n] -> few (Z.to_float n); Path n
  | "cycle", [n] when Z.gt n (z 2) -> few (Z.to_float n); Cycle n
  | "clique", [n] -> few (Z.to_float n); Clique n
  | "grid", _ :: _ -> few (List.fold_left (fun a n -> a *. Z.to_float n) 1. sizes); Grid sizes
  | "hypercube", [d] -> few (power Z.one d); Grid (List.init (Z.to_int d) (fun _ -> z 2))
  | _ -> raise (Uncovered ("the question " ^ text))

(* -- labels: numbers over one denominator, where they are numbers ------------------------------- *)

let rec plain = function                       (* 1 and true are the same label *)
  | Bool b -> Int (if b then Z.one else Z.zero)
  | List l -> List (List.map plain l)
  | Object ["float", _] -> raise (Uncovered "labels that are floats")
  | other -> other
let written label_unit x =
  let number n =
    let g = Z.gcd n label_unit in
    if Z.equal (Z.div label_unit g) Z.one then Int (Z.div n g)
    else Object ["fraction", Text (Z.to_string (Z.div n g) ^ "/" ^ Z.to_string (Z.div label_unit g))] in
  match x with [n] -> number n | l -> List (List.map number l)
let distinct count labels =
  need (List.length labels = count) "there are too few or many labels";
  let seen = Hashtbl.create count in
  List.iter (fun l -> need (not (Hashtbl.mem seen l)) "two labels are the same"; Hashtbl.add seen l ()) labels

let parts label = match label with List l -> l | one -> [one]
let part_of = function
  | Int n -> Some (n, Z.one) | Object ["fraction", f] -> Some (fraction f) | _ -> None

(* -- the whole file ------------------------------------------------------------------------------ *)

let wide = two 511
let keys = ["query"; "neighbours"; "graph"; "epsilon"; "delta"; "ratios"; "weights"; "outputs"; "window";
            "consumer"; "expected_loss"; "limit"; "certificate"; "bound"; "sections"]
let opened data =
  let size = String.length data in
  need (size >= 48 && String.sub data 0 10 = "\x89tightrope") "not a mechanism file";
  need (String.get_uint16_le data 10 = 3) "unknown version of the format";
  let length = Int32.to_int (String.get_int32_le data 12) in
  need (length >= 0 && length <= min (1 lsl 24) (size - 48)) "the header is longer than the file";
  need (sha256 (String.sub data 0 (size - 32)) = String.sub data (size - 32) 32) "the digest differs";
  let header = fields keys (parse (String.sub data 16 length)) in
  header, sections (16 + length) data (items (get "sections" header))

let level_of_header header =
  let epsilon = fields ["base"; "multiple"] (get "epsilon" header) in
  let a, b = positive ~digits:210 (get "multiple" epsilon) in
  match get "base" epsilon with
  | Null ->
    need (Z.geq (Z.mul a (Z.of_string "1000000000000")) b && Z.leq a (Z.mul (z 500) b)) "ε is out of range";
    Natural (a, b)
  | base ->
    let n, d = positive ~digits:210 base in
    need (Z.gt n d) "the base must be larger than 1";
    if Z.gt (Z.max a b) (z 2000) then raise (Uncovered "a level with a root of this degree");
    let rec nat k = if k = 0 then O else S (nat (k - 1)) in
    Power (nat (Z.to_int a), nat (Z.to_int b), n, d)

let relation header = match get "neighbours" header with
  | Text "change-one" -> ChangeOne | Text "add-remove" -> AddRemove | Text "either" -> Either
  | _ -> refuse "the neighbour relation is not known"

let one_ratio header = match List.map positive (items (get "ratios" header)) with
  | [ratio] -> ratio | _ -> refuse "there is one ratio"

(* Weights by rule have a question, and neither lists nor a consumer. *)
let only_question header seen =
  let absent key = get key header = Null in
  need (List.for_all absent ["graph"; "outputs"; "window"; "consumer"; "expected_loss"; "limit"; "certificate"; "bound"]
        && Hashtbl.length seen = 0) "weights by rule have a question, and neither lists nor a consumer"

let graph_of numbers header =
  match get "query" header, get "graph" header with
  | Text text, Null ->
    let q = question text in
    let r = relation header in
    (match q, r with Mean _, (AddRemove | Either) -> raise (Uncovered "a mean of people who come and go") | _ -> ());
    let labels = Array.of_list (answers_of q r) in
    Inl (q, r), Array.length labels, listed labels, denominator q,
    Array.to_list (Array.map (fun l -> written (denominator q) l) labels)
  | Null, graph ->
    ignore (relation header);
    let g = fields ["edges"; "labels"; "lengths"; "nodes"] graph in
    let n = small (1 lsl 20) (get "nodes" g) and edges = small (1 lsl 22) (get "edges" g) in
    need (n > 0) "there are no answers";
    let lengths = List.map (positive ~digits:60) (items (get "lengths" g)) in
    let less (a, b) (c, d) = Z.lt (Z.mul a d) (Z.mul c b) in
    let rec rising = function a :: (b :: _ as l) -> less a b && rising l | _ -> true in
    need (lengths <> [] && List.hd lengths = (Z.one, Z.one) && rising (List.tl lengths)
          && not (List.mem (Z.one, Z.one) (List.tl lengths))) "lengths are not in order";
    let ends = numbers "edges" (2 * edges) Z.zero (z n) in
    let many = List.length lengths in
    let place = if many = 1 then Array.make edges Z.zero else numbers "edge_lengths" edges Z.zero (z many) in
    need (many = 1 || List.for_all (fun l -> Array.mem (z l) place) (List.init (many - 1) succ)) "a length has no edge";
    let table = Hashtbl.create (2 * edges) and last = ref (-1) in
    Array.iteri (fun e p ->
      let i = Z.to_int ends.(2 * e) and h = Z.to_int ends.(2 * e + 1) in
      need (i < h && i * n + h > !last) "edges are not in order";
      last := i * n + h; Hashtbl.add table !last p) place;
    let key i h = Z.to_int i * n + Z.to_int h in
    let own = { joined = (fun i h -> Hashtbl.mem table (key i h));
                place = (fun i h -> Hashtbl.find table (key i h)); lengths } in
    let labels = match get "labels" g with
      | Null -> List.init n (fun i -> Int (z i)) | l -> List.map plain (items l) in
    distinct n labels;
    let known = List.map (fun l -> List.map part_of (parts l)) labels in
    let numeric = List.for_all (List.for_all Option.is_some) known in
    let known = if numeric then List.map (List.map Option.get) known else [] in
    let unit = List.fold_left (List.fold_left (fun u (_, d) -> Z.lcm u d)) Z.one known in
    let scaled = Array.of_list (List.map (List.map (fun (a, d) -> Z.div (Z.mul a unit) d)) known) in
    let even = numeric && Array.for_all (fun l -> List.length l = List.length scaled.(0)) scaled in
    Inr own, n, (if even then listed scaled else fun _ -> []), unit, labels
  | _ -> refuse "a file names a question or holds a graph of its own"

(* Permute-and-flip by scores: its privacy, by its ratio. *)
let scores header seen =
  let bits = whole (z 40) (z 63) (get "bits" (fields ["bits"; "kind"] (get "weights" header))) in
  only_question header seen;
  let size limit text =
    let n = whole_of text in
    need (Z.sign n > 0 && Z.lt n (z limit)) "the question is not known"; n in
  let rows = function
    | [] -> Z.one
    | [k] -> let k = size 10_000_000 k in need (Z.gt k Z.one) "one row each is not written out"; k
    | _ -> refuse "the question is not known" in
  let most = 1 lsl 20 + 1 in
  let q = match call (text_of (get "query" header)) with
    | "commonest", c :: k -> Commonest (size most c, rows k)
    | "quantile", rank :: c :: k ->
      let t, d = positive (Text rank) in
      need (Z.lt t d && Z.lt d (z 10_000_000)) "the rank is below 1";
      Quantile (t, d, size most c, rows k)
    | _ -> refuse "the question is not known" in
  let p, d = one_ratio header in
  let r = relation header in
  need (get "delta" header = Null) "scores have no delta";
  let level = level_of_header header in
  let rec int = function O -> 0 | S m -> 1 + int m in
  let root = match level with Power (_, s, _, _) -> int s | _ -> 1 in
  if Z.gt (Z.mul (steps_of q r) (z (root * Z.numbits p))) (z 4_000_000) then raise (Uncovered "so many steps");
  judge_scores q r bits p d level

(* A count that is shown if it is large enough: its privacy, by the levels of its law. *)
let shown header seen =
  let w = fields ["bits"; "kind"; "levels"; "zero"] (get "weights" header) in
  only_question header seen;
  (match question ~most:infinity (text_of (get "query" header)) with
   | Count _ | Path _ -> () | _ -> raise (Uncovered "a count of this question"));
  ignore (relation header);
  let p, q = one_ratio header in
  let levels = List.map (whole Z.one (two 480)) (items (get "levels" w)) in
  need (small (1 lsl 17) (get "zero" w) < List.length levels) "the level of no noise does not exist";
  let a, b = positive (get "delta" header) in
  need (Z.lt a b) "δ must be below 1";
  check_shown levels (whole Z.zero (z 481) (get "bits" w)) p q a b (level_of_header header)

(* Noise on a lattice: what is checked is its privacy; whether the file says more comes with it. *)
let noise header seen =
  let w = fields ["bits"; "core"; "kind"; "start"] (get "weights" header) in
  let question = question ~most:infinity (text_of (get "query" header)) in
  need (get "graph" header = Null && get "outputs" header = Null && get "delta" header = Null)
    "the outputs of a lattice are the answers, and it has no δ";
  let p, q = one_ratio header in
  let start = whole Z.one (two 4000) (get "start" w) and core = whole Z.zero (two 60) (get "core" w) in
  let rec levels n v =
    if n > 300_000 then raise (Uncovered "so many levels");
    let next = Z.cdiv (Z.mul v q) p in if Z.equal next v then n else levels (n + 1) next in
  let many = levels 1 start in
  let rec nat n made = if n = 0 then made else nat (n - 1) (S made) in
  let of_people people width =
    need (Z.sign people > 0) "the question has one answer";
    { people; width; core; start; top_of = p; bottom_of = q;
      bits0 = whole Z.one (z 4001) (get "bits" w); steps = nat many O } in
  let rec int = function O -> 0 | S m -> 1 + int m in
  let level = level_of_header header in
  let is_private = match line_of question (relation header), lattice_of question (relation header) with
    | Some (people, width), _ -> check_noise (of_people people width) level
    | None, Some ((form, parts), people) ->
      need (Z.sign core = 0) "only a line has a core";
      need (int parts <= 1000 && (form <> Roots || int parts > 1)) "this lattice is not known";
      if int parts * many > 20_000_000 then raise (Uncovered "a lattice of this size");
      check_tuples (of_people people Z.one) form parts level
    | None, None -> raise (Uncovered "noise on this lattice") in
  is_private,
  get "consumer" header = Null && get "certificate" header = Null && get "limit" header = Null
  && get "window" header = Null && Hashtbl.length seen = 0

let dense header seen data =
  let numbers = Reader.numbers data seen 1 in
  let epsilon = level_of_header header in
  let asked, n, label, label_unit, names = graph_of numbers header in
  let weights = get "weights" header in
  if kind_of weights <> "dense" then raise (Uncovered ("weights of the kind " ^ kind_of weights));
  let weights = fields ["bits"; "kind"; "outputs"] weights in
  let bits = small 481 (get "bits" weights) and outputs = small (1 lsl 31) (get "outputs" weights) in
  need (outputs > 0) "there are no outputs";
  if get "window" header <> Null then raise (Uncovered "a window");
  (match get "outputs" header with
   | Null -> need (outputs = n) "outputs without names are the answers"
   | l -> distinct outputs (List.map plain (items l)));
  let w = Reader.numbers data seen n "weights" (n * outputs) Z.zero (Z.succ (two bits)) in
  let delta = match get "delta" header with
    | Null -> None
    | d -> let a, b = positive ~digits:210 d in need (Z.lt a b) "δ is not below 1"; Some (a, b) in
  let base = { asked; nodes = z n; label; label_unit; distance = (fun _ _ -> Z.zero); epsilon; delta;
               ratios = List.map positive (items (get "ratios" header)); bits = z bits; outputs = z outputs;
               weight = (fun i o -> w.(Z.to_int o * n + Z.to_int i)); whose = None; proof = None } in
  let near = Array.of_list (List.map (fun (_, l) -> List.map Z.to_int l) (table base)) in
  let path = Array.for_all Fun.id (Array.mapi (fun i l ->
    l = List.filter (fun h -> h >= 0 && h < n) [i - 1; i + 1]) near) in
  need (delta = None || path) "δ is for answers in a row";
  let hints = Hints.make near in
  need (n = 1 || Array.for_all (fun d -> d >= 0) (Hints.distances hints 0)) "the graph is not connected";
  let base = { base with distance = (fun k i -> z (Hints.distances hints (Z.to_int k)).(Z.to_int i)) } in
  let bound = match get "bound" header with Null -> None | b -> Some (fraction b) in
  let told = get "certificate" header in
  let certified = told <> Null in
  need (certified = (bound <> None)) "a bound belongs to a certificate";
  let kind = if certified then kind_of told else "" in
  need (delta = None || List.mem kind [""; "multipliers"]) "δ goes with multipliers";
  need ((get "consumer" header = Null) = (get "expected_loss" header = Null)) "a loss belongs to a consumer";
  need (get "consumer" header <> Null || not certified) "a certificate needs a consumer";
  let whose = match get "consumer" header with
    | Null -> None
    | c ->
      let c = fields ["loss"; "prior"; "remapped"; "support"] c in
      let g, loss = match kind_of (get "loss" c) with
        | "binary" -> n, Binary | "absolute" -> n, Absolute | "squared" -> n, Squared
        | "distance" -> n, Distance
        | "listed" ->
          let l = fields ["denominator"; "guesses"; "kind"] (get "loss" c) in
          let g = small (1 lsl 24) (get "guesses" l) in
          let all = numbers "loss" (n * g) (Z.neg wide) wide in
          g, Listed (whole Z.one (two 1024) (get "denominator" l),
                     fun k i -> all.(Z.to_int k * n + Z.to_int i))
        | _ -> refuse "the loss is not known" in
      (match loss with Listed _ -> () | _ -> ignore (fields ["kind"] (get "loss" c)));
      (match loss, asked with
       | Distance, Inr o when List.length o.lengths > 1 -> raise (Uncovered "distances of several lengths")
       | (Absolute | Squared), _ -> need (label Z.zero <> []) "the answers are not numbers"
       | _ -> ());
      let support = match get "support" c with
        | Null -> None
        | s when kind_of s = "all" -> ignore (fields ["kind"] s); Some (fun _ -> true)
        | s ->
          let count = small (1 lsl 31) (get "count" (fields ["count"; "kind"] s)) in
          need (kind_of s = "listed" && count > 0) "the support is not known";
          let inside = Array.make n false in
          Array.iter (fun i -> need (not inside.(Z.to_int i)) "a possible answer is listed twice";
                       inside.(Z.to_int i) <- true) (numbers "support" count Z.zero (z n));
          Some (listed inside) in
      let prior = match get "prior" c with
        | Null -> None
        | p when kind_of p = "uniform" -> ignore (fields ["kind"] p); Some ((fun _ -> Z.one), z n)
        | p when kind_of p = "listed" ->
          let total = whole Z.one (two 62) (get "total" (fields ["kind"; "total"] p)) in
          Some (listed (numbers "prior" n Z.zero (two 62)), total)
        | _ -> refuse "a prior by its name lies in a window" in
      need ((prior <> None) = (certified || support = None)) "the consumer needs a prior";
      let remapped = bool (get "remapped" c) in
      let guess_of = if remapped then listed (numbers "guess_of" outputs Z.zero (z g)) else Fun.id in
      need (remapped || outputs <= g) "an output has no guess";
      (match get "outputs" header, loss with
       | Null, _ | _, Listed _ -> ()
       | l, _ -> need (remapped || List.for_all2 (=) (List.map plain (items l))
                         (List.filteri (fun i _ -> i < outputs) names)) "an output has another name");
      Some { prior; support; loss; guesses = z g; guess_of; expected_loss = fraction (get "expected_loss" header) } in
  let limited = match get "limit" header, whose with
    | Null, _ -> None
    | _, None -> refuse "a limit needs a consumer"
    | l, Some c ->
      need (c.support = None && delta = None) "a limit is for a prior";
      let l = fields ["attacker"; "limited"; "most"; "vulnerability"] l in
      let who, actions = match kind_of (get "attacker" l) with
        | "guesser" -> ignore (fields ["kind"] (get "attacker" l)); Guesser, n
        | "listed" ->
          let a = fields ["actions"; "denominator"; "kind"] (get "attacker" l) in
          let many = small (1 lsl 24) (get "actions" a) in
          let all = numbers "attack" (many * n) (Z.neg wide) wide in
          need (Array.exists (fun x -> Z.sign x <> 0) all) "an attacker can gain nothing";
          Attacks (z many, whole Z.one (two 1024) (get "denominator" a),
                   fun w i -> all.(Z.to_int w * n + Z.to_int i)), many
        | _ -> refuse "the attacker is not known" in
      let of_loss = match get "limited" l with
        | Text "loss" -> true | Text "vulnerability" -> false | _ -> refuse "what is limited is not known" in
      let g = Z.to_int c.guesses in
      let q = if certified then numbers "choices" (g * actions) Z.zero wide else [||] in
      let weight = match told with
        | Object o when certified -> whole Z.zero (two 512) (try get "weight" o with Not_found -> Null)
        | _ -> Z.zero in
      Some { of_loss; most = fraction (get "most" l); vulnerability = fraction (get "vulnerability" l); who;
             theta = weight; choice = (fun k w -> q.(Z.to_int k * actions + Z.to_int w)) } in
  let f = { base with whose } in
  let proof = match whose with
    | Some c when certified -> Some (Hints.certificate hints numbers f c limited kind told path (Option.get bound))
    | _ -> None in
  need (Hashtbl.length seen = 0) "a section has no meaning";
  match limited, whose with
  | Some m, Some c -> f, Some (c, Hints.scaled m kind, proof)
  | _ -> { f with proof }, None
