# Times as parts of Go's, one panel for each number of cores. bench/run says: a terminal and an output,
# `cores`, `series` (the columns' names), and `data`, which files' names begin with.

set datafile separator "\t"
set datafile missing "?"
set logscale x
set xrange [0.01:30]
set format x "%g"
set grid x y lc rgb "#dddddd"
set key outside below maxrows 3
set lmargin 46
set rmargin 3
set offsets 0, 0, 0.7, 0.7
set style line 1 lc rgb "#d62728" pt 7 ps 1.3
set style line 2 lc rgb "#ff7f0e" pt 7 ps 0.9
set style line 3 lc rgb "#8c1a1b" pt 5 ps 0.9
set style line 4 lc rgb "#1f77b4" pt 4 ps 0.8
set style line 5 lc rgb "#17becf" pt 6 ps 0.8
set style line 6 lc rgb "#2ca02c" pt 8 ps 0.8
set style line 7 lc rgb "#9467bd" pt 10 ps 0.8
set style line 8 lc rgb "#7f7f7f" pt 12 ps 0.8
set style line 9 lc rgb "#8c564b" pt 2 ps 0.8
set style line 10 lc rgb "#e377c2" pt 3 ps 0.8
set style line 11 lc rgb "#bcbd22" pt 1 ps 0.8
set style line 12 lc rgb "#000000" pt 14 ps 0.8
set arrow 1 from 1, graph 0 to 1, graph 1 nohead lw 1.5 lc rgb "#1f77b4"

set multiplot layout words(cores), 1
do for [c in cores] {
    set title (c eq "1" ? "one core" : c." cores").": time or memory as a part of Go's (1; left is better)"
    plot for [i=1:words(series)] data.c using (column(i + 2)):1:yticlabels(2) \
        with points ls i title word(series, i)
}
unset multiplot
