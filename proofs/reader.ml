(* The reader of mechanism files (docs/reference/mechanism-file.md), the only part of the second judge
   that is not proved and must be trusted. It hands the header and the integers of a file to
   [Kernel.judge], which decides. *)

module Whole = Z
open Kernel
module Z = Whole

exception Stop of verdict reading
let refuse text = raise (Stop (Refused text))
let need holds text = if not holds then refuse text
let take = function Read a -> a | Refused text -> refuse text | Uncovered text -> raise (Stop (Uncovered text))

let z = Z.of_int
let two n = Z.shift_left Z.one n

(* -- JSON in canonical form: no blanks, keys in order, whole numbers ------------------------- *)

let parse (s : string) : json =
  let at = ref 0 in
  let peek () = if !at < String.length s then s.[!at] else '\000' in
  let eat c = need (peek () = c) "the header is not canonical JSON"; incr at in
  let word w v = String.iter eat w; v in
  let text () =
    eat '"';
    let start = !at in
    while peek () <> '"' do
      need (peek () >= ' ' && peek () <= '~') "the header is not canonical JSON";
      if peek () = '\\' then raise (Stop (Uncovered "texts with escapes"));
      incr at
    done;
    incr at; String.sub s start (!at - 1 - start) in
  let rec items close item = if peek () = close then (incr at; []) else rest close item
  and rest close item =
    let first = item () in
    if peek () = ',' then (incr at; first :: rest close item) else (eat close; [first]) in
  let rec value () = match peek () with
    | 'n' -> word "null" Null | 't' -> word "true" (Truth true) | 'f' -> word "false" (Truth false)
    | '"' -> Text (text ())
    | '[' -> incr at; List (items ']' value)
    | '{' -> incr at;
      let pairs = items '}' (fun () -> let key = text () in eat ':'; (key, value ())) in
      let rec rising = function (a, _) :: ((b, _) :: _ as l) -> a < b && rising l | _ -> true in
      need (rising pairs) "the header is not canonical JSON"; Object pairs
    | _ ->
      let start = !at in
      if peek () = '-' then incr at;
      while peek () >= '0' && peek () <= '9' do incr at done;
      let digits = String.sub s start (!at - start) in
      need (digits <> "" && digits <> "-" && Z.to_string (Z.of_string digits) = digits)
        "the header is not canonical JSON";
      Int (Z.of_string digits) in
  let found = value () in
  need (!at = String.length s) "the header is not canonical JSON"; found

(* -- bytes: zlib (RFC 1950, 1951) and SHA-256 ------------------------------------------------- *)

let inflate (s : string) size =
  let out = Buffer.create size and at = ref 16 in  (* in bits, behind the two bytes of zlib *)
  let bad () = refuse "a section is damaged" in
  let bit () =
    let byte = !at lsr 3 in
    if byte >= String.length s then bad ();
    let b = (Char.code s.[byte] lsr (!at land 7)) land 1 in incr at; b in
  let bits n = let v = ref 0 in for i = 0 to n - 1 do v := !v lor (bit () lsl i) done; !v in
  let codes lengths =                                (* how many codes of each length, symbols in order *)
    let count = Array.make 16 0 in
    Array.iter (fun l -> count.(l) <- count.(l) + 1) lengths; count.(0) <- 0;
    let start = Array.make 17 0 in
    for l = 1 to 15 do start.(l + 1) <- start.(l) + count.(l) done;
    let symbols = Array.make (Array.length lengths) 0 in
    Array.iteri (fun i l -> if l > 0 then (symbols.(start.(l)) <- i; start.(l) <- start.(l) + 1)) lengths;
    (count, symbols) in
  let symbol (count, symbols) =
    let rec go l code first index =
      if l > 15 then bad () else
      let code = code lor bit () in
      if code - first < count.(l) then symbols.(index + code - first)
      else go (l + 1) ((code) lsl 1) ((first + count.(l)) lsl 1) (index + count.(l)) in
    go 1 0 0 0 in
  let copy lit dist =
    let base start extra = Array.init 32 (fun i -> (start i, extra i)) in
    let length = base (fun i -> if i < 8 then i + 3 else if i = 28 then 258 else
        ((4 + i land 3) lsl (i / 4 - 1)) + 3) (fun i -> if i < 8 || i = 28 then 0 else i / 4 - 1)
    and far = base (fun i -> if i < 4 then i + 1 else ((2 + i land 1) lsl (i / 2 - 1)) + 1)
        (fun i -> if i < 4 then 0 else i / 2 - 1) in
    let rec go () =
      let sym = symbol lit in
      if sym < 256 then (Buffer.add_char out (Char.chr sym); limit ())
      else if sym > 256 then begin
        if sym > 285 then bad ();
        let first, extra = length.(sym - 257) in
        let n = first + bits extra in
        let d = symbol dist in
        if d > 29 then bad ();
        let first, extra = far.(d) in
        let back = first + bits extra in
        if back > Buffer.length out then bad ();
        for _ = 1 to n do Buffer.add_char out (Buffer.nth out (Buffer.length out - back)) done;
        limit ()
      end
    and limit () = if Buffer.length out > size then bad () else go () in
    go () in
  if String.length s < 6 || Char.code s.[0] land 15 <> 8
     || (Char.code s.[0] * 256 + Char.code s.[1]) mod 31 <> 0 || Char.code s.[1] land 32 <> 0 then bad ();
  let last = ref false in
  while not !last do
    last := bit () = 1;
    match bits 2 with
    | 0 ->
      at := (!at + 7) land (lnot 7);
      let n = bits 16 in
      if bits 16 <> n lxor 0xffff then bad ();
      for _ = 1 to n do Buffer.add_char out (Char.chr (bits 8)) done
    | 1 ->
      let lit i = if i < 144 then 8 else if i < 256 then 9 else if i < 280 then 7 else 8 in
      copy (codes (Array.init 288 lit)) (codes (Array.make 30 5))
    | 2 ->
      let hlit = bits 5 + 257 in
      let hdist = bits 5 + 1 in
      let hclen = bits 4 + 4 in
      let order = [|16; 17; 18; 0; 8; 7; 9; 6; 10; 5; 11; 4; 12; 3; 13; 2; 14; 1; 15|] in
      let lengths = Array.make 19 0 in
      for i = 0 to hclen - 1 do lengths.(order.(i)) <- bits 3 done;
      let code = codes lengths in
      let all = Array.make (hlit + hdist) 0 and i = ref 0 in
      while !i < hlit + hdist do
        let repeat v n = for _ = 1 to n do (if !i >= hlit + hdist then bad (); all.(!i) <- v; incr i) done in
        match symbol code with
        | 16 -> if !i = 0 then bad (); repeat all.(!i - 1) (3 + bits 2)
        | 17 -> repeat 0 (3 + bits 3)
        | 18 -> repeat 0 (11 + bits 7)
        | v -> repeat v 1
      done;
      copy (codes (Array.sub all 0 hlit)) (codes (Array.sub all hlit hdist))
    | _ -> bad ()
  done;
  let a = ref 1 and b = ref 0 in
  String.iter (fun c -> a := (!a + Char.code c) mod 65521; b := (!b + !a) mod 65521) (Buffer.contents out);
  at := (!at + 7) land (lnot 7);
  let sum = List.fold_left (fun v _ -> v * 256 + bits 8) 0 [1; 2; 3; 4] in
  if sum <> !b * 65536 + !a || !at / 8 <> String.length s then bad ();
  need (Buffer.length out = size) "a section does not hold what it claims";
  Buffer.contents out

let sha256 (s : string) =
  let primes = List.filter (fun n -> n > 1 && List.for_all (fun d -> d < 2 || d >= n || n mod d > 0)
      (List.init 20 Fun.id)) (List.init 312 Fun.id) |> Array.of_list in
  let mask = 0xffffffff in
  let root n p = Z.to_int (Z.logand (Z.root (Z.shift_left (z p) (32 * n)) n) (z mask)) in
  let k = Array.init 64 (fun i -> root 3 primes.(i)) and h = Array.init 8 (fun i -> root 2 primes.(i)) in
  let n = String.length s in
  let padded = Bytes.make ((n + 72) / 64 * 64) '\000' in
  Bytes.blit_string s 0 padded 0 n; Bytes.set padded n '\x80';
  Bytes.set_int64_be padded (Bytes.length padded - 8) (Int64.of_int (8 * n));
  let turn x r = ((x lsr r) lor (x lsl (32 - r))) land mask and w = Array.make 64 0 in
  for block = 0 to Bytes.length padded / 64 - 1 do
    for i = 0 to 15 do w.(i) <- Int32.to_int (Bytes.get_int32_be padded (64 * block + 4 * i)) land mask done;
    for i = 16 to 63 do
      let a = w.(i - 15) and b = w.(i - 2) in
      w.(i) <- (w.(i - 16) + (turn a 7 lxor turn a 18 lxor (a lsr 3)) + w.(i - 7)
                + (turn b 17 lxor turn b 19 lxor (b lsr 10))) land mask
    done;
    let v = Array.copy h in
    for i = 0 to 63 do
      let e = v.(4) and a = v.(0) in
      let t = v.(7) + (turn e 6 lxor turn e 11 lxor turn e 25)
              + ((e land v.(5)) lxor (lnot e land mask land v.(6))) + k.(i) + w.(i) in
      let u = (turn a 2 lxor turn a 13 lxor turn a 22)
              + ((a land v.(1)) lxor (a land v.(2)) lxor (v.(1) land v.(2))) in
      Array.blit v 0 v 1 7; v.(4) <- (v.(4) + t) land mask; v.(0) <- (t + u) land mask
    done;
    Array.iteri (fun i x -> h.(i) <- (h.(i) + x) land mask) v
  done;
  String.concat "" (List.map (fun x -> let b = Bytes.create 4 in
    Bytes.set_int32_be b 0 (Int32.of_int x); Bytes.to_string b) (Array.to_list h))

(* -- sections ---------------------------------------------------------------------------------- *)

type section = { width : int; count : int; sizes : int list; start : int }

let small high j = Z.to_int (take (whole_number Z.zero (z high) j))

(* Where each section is, by its name. *)
let sections body data listed =
  let seen = Hashtbl.create 20 in
  let place start described =
    let pairs = take (fields ["bytes"; "count"; "name"; "width"] described) in
    let name = match get "name" pairs with Text t -> t | _ -> refuse "a section has no name" in
    let width = small 65 (get "width" pairs) in
    let count = small (1 lsl 40) (get "count" pairs) in
    let sizes = List.map (small (1 lsl 40)) (take (items (get "bytes" pairs))) in
    need (width > 0 && width mod 8 = 0 && count > 0 && sizes <> [] && not (Hashtbl.mem seen name))
      "a section is not described";
    Hashtbl.add seen name { width; count; sizes; start };
    List.fold_left (+) start sizes in
  let last = List.fold_left place body listed in
  need (last + 32 = String.length data) "the file has another length";
  seen

(* The integers of a section that must have so many of them, from [low] to below [high]. *)
let numbers data seen name column count low high =
  let column = Z.to_int column and count = Z.to_int count in
  let found = Array.make count Z.zero in
  if count > 0 then begin
    let s = try Hashtbl.find seen name with Not_found -> refuse ("the section " ^ name ^ " is missing") in
    Hashtbl.remove seen name;
    let narrow = Z.geq low (Z.neg (two 62)) && Z.leq high (Z.succ (two 62)) in
    let chunk = max 1 ((1 lsl 20) / column) * column in
    need (s.count = count && (s.width = 8 || not narrow) && List.length s.sizes = (count + chunk - 1) / chunk)
      ("the section " ^ name ^ " has another size");
    let unpack (at, first) packed =
      let many = min chunk (count - first) in
      need (many * s.width <= 1100 * packed + 1100) "a section cannot hold what it claims";
      let raw = inflate (String.sub data at packed) (many * s.width) in
      for i = 0 to many - 1 do
        let bits = Z.of_bits (String.sub raw (i * s.width) s.width) in
        let negative = Z.testbit bits (8 * s.width - 1) in
        let value = if negative then Z.sub bits (two (8 * s.width)) else bits in
        need (Z.leq low value && Z.lt value high) ("the section " ^ name ^ " has numbers out of range");
        found.(first + i) <- value
      done;
      at + packed, first + many in
    ignore (List.fold_left unpack (s.start, 0) s.sizes)
  end;
  Read (fun i -> found.(Z.to_int i))

(* -- the whole file ------------------------------------------------------------------------------ *)

let keys = ["bound"; "certificate"; "consumer"; "delta"; "epsilon"; "expected_loss"; "graph"; "limit"; "neighbours";
            "outputs"; "query"; "ratios"; "sections"; "weights"; "window"]

let opened data =
  let size = String.length data in
  need (size >= 48 && String.sub data 0 10 = "\x89tightrope") "not a mechanism file";
  need (String.get_uint16_le data 10 = 3) "unknown version of the format";
  let length = Int32.to_int (String.get_int32_le data 12) in
  need (length >= 0 && length <= min (1 lsl 24) (size - 48)) "the header is longer than the file";
  need (sha256 (String.sub data 0 (size - 32)) = String.sub data (size - 32) 32) "the digest differs";
  let header = take (fields keys (parse (String.sub data 16 length))) in
  header, sections (16 + length) data (take (items (get "sections" header)))
