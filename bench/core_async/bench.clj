;; core.async's program of the benchmark: go blocks and channels. The same rows, environment and output as
;; ../common/bench.h, except that it warms up for BENCH_WARM_MS (2000).
;;
;; No sleepers: a channel takes 1,024 waiting takers, and timeouts within 10 ms share a channel.
(require '[clojure.core.async :as a
           :refer [go go-loop chan <! >! <!! >!! alts! close! timeout poll! pipeline]])

(set! *warn-on-reflection* true)

(defn env ^long [^String k ^long otherwise]
  (if-let [v (System/getenv k)] (Long/parseLong v) otherwise))
(defn sample [row metric value]
  (println (str "SAMPLE\t" row "\t" metric "\t" (format "%.4f" (double value)))))
(defn check [what got want]
  (when-not (= got want)
    (binding [*out* *err*] (println (str what ": got " got " instead of " want)))
    (System/exit 3)))
(defn sum-to ^long [^long n] (quot (* n (dec n)) 2))
(defn now ^long [] (System/nanoTime))
(defn warm? [^long since] (>= (- (now) since) (* 1000000 (env "BENCH_WARM_MS" 2000))))

(defn run [row multiple f]
  (let [multiple (long multiple)
        enough (* 1000000 (env "BENCH_MIN_MS" 150))
        up (fn ^long [^double x] (* multiple (long (Math/ceil (/ x multiple)))))
        start (now)
        n (loop [n (long (up 1000.0))]
            (let [ns (long (f n))]
              (if (and (>= ns enough) (warm? start))
                n
                (recur (long (up (* n (cond (>= ns enough) 1.0
                                            (> ns 1000000) (min 20.0 (max 1.1 (/ (* 1.25 enough) ns)))
                                            :else 20.0))))))))]
    (dotimes [_ (env "BENCH_REPEATS" 1)]
      (sample row "ns/op" (/ (double (f n)) (double n))))))

(defn pingpong [^long n]
  (let [there (chan) back (chan)
        echo (go-loop []
               (when-some [v (<! there)] (>! back (inc (long v))) (recur)))
        result (go
                 (let [start (now)]
                   (loop [i 0 v 0]
                     (if (< i n)
                       (do (>! there (inc v))
                           (recur (inc i) (long (<! back))))
                       (let [ns (- (now) start)]
                         (close! there)
                         (check "pingpong" v (* 2 n))
                         ns)))))
        ns (<!! result)]
    (<!! echo)
    ns))

(defn send-all [c ^long from ^long to]
  (go-loop [i from] (when (< i to) (>! c i) (recur (inc i)))))
(defn receive-all [c]
  (go-loop [total 0 n 0]
    (if-some [v (<! c)] (recur (+ total (long v)) (inc n)) [total n])))

(defn stream [n capacity pairs]
  (let [n (long n) pairs (long pairs)
        c (if (zero? (long capacity)) (chan) (chan capacity))
        start (now)
        receivers (mapv (fn [_] (receive-all c)) (range pairs))
        each (quot n pairs)
        senders (mapv (fn [p] (send-all c (* each (long p)) (* each (inc (long p))))) (range pairs))]
    (doseq [s senders] (<!! s))
    (close! c)
    (let [got (mapv <!! receivers)
          ns (- (now) start)]
      (check "stream" (reduce + (map second got)) n)
      (check "stream" (reduce + (map first got)) (sum-to n))
      ns)))

(defn select-4 [^long n]
  (let [cs (vec (repeatedly 4 chan))
        each (quot n 4)
        start (now)]
    (dotimes [p 4] (send-all (cs p) (* each p) (* each (inc p))))
    (let [total (<!! (go-loop [i 0 total 0]
                       (if (< i n)
                         (let [[v _] (alts! cs)] (recur (inc i) (+ total (long v))))
                         total)))
          ns (- (now) start)]
      (check "select_4" total (sum-to n))
      ns)))

(defn poll-1 [^long n]
  (let [c (chan) start (now)
        misses (loop [i 0 m 0] (if (< i n) (recur (inc i) (if (nil? (poll! c)) (inc m) m)) m))
        ns (- (now) start)]
    (check "poll_1" misses n)
    ns))
(defn poll-4 [^long n]
  (let [cs (vec (repeatedly 4 chan)) start (now)
        misses (<!! (go-loop [i 0 m 0]
                      (if (< i n)
                        (let [[v _] (alts! cs :default :none)]
                          (recur (inc i) (if (= v :none) (inc m) m)))
                        m)))
        ns (- (now) start)]
    (check "poll_4" misses n)
    ns))

(defn spawn [^long n ^long together]
  (let [ran (java.util.concurrent.atomic.LongAdder.)
        start (now)]
    (loop [i 0]
      (when (< i n)
        (let [all (loop [j 0 v (transient [])]
                    (if (< j together)
                      (recur (inc j) (conj! v (go (.increment ran) 1)))
                      (persistent! v)))]
          (doseq [g all] (<!! g)))
        (recur (+ i together))))
    (let [ns (- (now) start)]
      (check "spawn" (.sum ran) n)
      ns)))

;; The token counts down; a negative one goes round once and ends all.
(defn ring [^long n]
  (let [members 1000 cs (vec (repeatedly members chan)) done (chan)
        all (mapv (fn [i]
                    (let [in (cs i) out (cs (mod (inc (long i)) members))
                          last? (= (long i) (dec members))]
                      (go-loop [hops 0]
                        (let [token (long (<! in))]
                          (if (<= token 0)
                            (do (when-not last? (>! out token)) hops)
                            (do (if (= token 1) (>! done 1) (>! out (dec token)))
                                (recur (inc hops))))))))
                  (range members))
        start (now)]
    (>!! (cs 0) n)
    (<!! done)
    (let [ns (- (now) start)]
      (>!! (cs 0) -1)
      (check "ring" (reduce + (map <!! all)) n)
      ns)))

(defn sieve-once ^long []
  (let [stop (atom false) c (chan) start (now)]
    (go-loop [i 2] (when-not @stop (>! c i) (recur (inc i))))
    (let [prime (long (<!! (go-loop [k 0 c c prime 0]
                             (if (< k 2000)
                               (let [p (long (<! c)) out (chan)]
                                 (go-loop []
                                   (let [v (long (<! c))]
                                     (when-not (zero? (rem v p)) (>! out v))
                                     (when-not @stop (recur))))
                                 (recur (inc k) out p))
                               prime))))
          ns (- (now) start)]
      (reset! stop true)
      (check "sieve" prime 17389)
      ns)))
(defn sieve [row]
  (let [start (now)]
    (while (do (sieve-once) (not (warm? start)))))
  (dotimes [_ (env "BENCH_REPEATS" 1)] (sample row "ms" (/ (sieve-once) 1e6))))

(defn timeout-channels ^double []
  (let [r (java.util.Random. 1) n (env "BENCH_CROWD" 1000000) keep (object-array n) start (now)]
    (dotimes [i n] (aset keep i (timeout (* 1000 (+ 1000 (.nextInt r 1000))))))
    (/ (double (- (now) start)) n)))
(defn timeout-channel [row] ; they pile up, as they would
  (dotimes [_ 2] (timeout-channels))
  (dotimes [_ (env "BENCH_REPEATS" 1)] (sample row "ns/op" (timeout-channels))))

(defn pipeline-3 [^long n]
  (let [cs (vec (repeatedly 4 #(chan 64))) start (now)]
    (go (loop [i 0] (when (< i n) (>! (cs 0) i) (recur (inc i)))) (close! (cs 0)))
    (dotimes [s 3]
      (let [in (cs s) out (cs (inc s))]
        (go-loop []
          (if-some [v (<! in)] (do (>! out (inc (long v))) (recur)) (close! out)))))
    (let [[total k] (<!! (receive-all (cs 3))) ns (- (now) start)]
      (check "pipeline" k n)
      (check "pipeline" total (+ (sum-to n) (* 3 n)))
      ns)))

(defn ordered-map [^long n]
  (let [in (chan 64) out (chan 64) start (now)]
    (go (loop [i 0] (when (< i n) (>! in i) (recur (inc i)))) (close! in))
    (pipeline 2 out (map inc) in)
    (let [k (<!! (go-loop [k 0]
                   (if-some [v (<! out)]
                     (do (when-not (= v (inc k)) (check "ordered_map" v (inc k)))
                         (recur (inc k)))
                     k)))
          ns (- (now) start)]
      (check "ordered_map" k n)
      ns)))

(def rows
  [["pingpong" #(run % 1 pingpong)]
   ["unbuffered_1to1" #(run % 1 (fn [n] (stream n 0 1)))]
   ["unbuffered_4to4" #(run % 4 (fn [n] (stream n 0 4)))]
   ["buffered_1to1" #(run % 1 (fn [n] (stream n 128 1)))]
   ["buffered_4to4" #(run % 4 (fn [n] (stream n 128 4)))]
   ["select_4" #(run % 4 select-4)]
   ["poll_1" #(run % 1 poll-1)]
   ["poll_4" #(run % 1 poll-4)]
   ["spawn_1000" #(run % 1000 (fn [n] (spawn n 1000)))]
   ["ring" #(run % 1 ring)]
   ["sieve" sieve]
   ["timeout_channel" timeout-channel]
   ["pipeline" #(run % 1 pipeline-3)]
   ["ordered_map" #(run % 1 ordered-map)]])

(if-let [row (first *command-line-args*)]
  (let [f (some (fn [[name f]] (when (= name row) f)) rows)]
    (f row))
  (doseq [[name _] rows] (println name)))
(flush)
(shutdown-agents)
(System/exit 0)
