#!/usr/bin/env bash
# The tables and the figure of Lin (2005), and the Finnish genitive plurals, by Stochastic OT and its rivals.
#
#   recipes/ot-lin2005.sh DATA_DIR [options]
#
# DATA_DIR holds lin2005-table2.tsv, lin2005-ilokano-reduplication.tsv, lin2005-spanish-diminutives.tsv and
# finnish-genitive-plurals.tsv: tab-separated tableaux with the header "input output frequency CONSTRAINT …".
#
# Prints
#   table 3            the ordering relations of table 2
#   figure 1           Ilokano: the posterior (pictures in DIR/figure-1), and the prediction at its medians
#   tables 6 to 8      Spanish: Gibbs sampler, GLA over many seeds with its scatter, MaxEnt without prior and with
#   Finnish            predicted beside observed frequencies, beside GLA and MaxEnt, and a comparison
#
# Options
#   --output DIR      where the results go; default: runs/ot-lin2005
#   --iterations N    sweeps of each of four chains; default: 2000
#   --seeds N         learners of the GLA; default: 100
#   --trials N        forms that each of them hears; default: 200000
#   --seed N          default: 1
#   --format F        of the pictures: svg, pdf or png; default: svg
#   --no-plots        draw nothing (the pictures need matplotlib)
#   --overwrite       do everything again; without it, steps that were done with the same settings are left out
#
# Every step's log is in DIR/logs; pages that tell of the three posteriors are DIR/ilokano.html, spanish.html and finnish.html.
set -euo pipefail
# shellcheck source=recipes/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
conclusions=(table.txt)

ot() { "$PYTHON" -m monolingual ot "$@"; }

# The posterior of tableaux; goes on where it was if it was stopped.
sample() { # NAME
    resume_or_begin "$OUT/$1" ot resume "$OUT/$1" -- \
        ot sample "$OUT/$1.tsv" --output "$OUT/$1" --overwrite --iterations "$ITERATIONS" --seed "$SEED"
}

# All grammars of tableaux that vary.
learn() { # NAME
    local name=$1 data=$OUT/$1.tsv
    step "sample-$name" "$data" "$OUT/settings" --makes "$name" "logs/sample-$name.log" -- sample "$name"
    step "fit-$name" "$data" --makes "$name-ml" -- ot fit "$data" --output "$OUT/$name-ml" --overwrite
    step "gla-$name" "$data" "$OUT/settings" --makes "$name-gla" -- \
        ot gla "$data" --output "$OUT/$name-gla" --overwrite --seeds "$SEEDS" --trials "$TRIALS" --seed "$SEED"
    step "maxent-$name" "$data" --makes "$name-maxent" "logs/maxent-$name.log" -- \
        ot maxent "$data" --no-non-negative --output "$OUT/$name-maxent" --overwrite
    step "smoothed-$name" "$data" --makes "$name-maxent-smoothed" -- \
        ot maxent "$data" --no-non-negative --prior-variance 10 --output "$OUT/$name-maxent-smoothed" --overwrite
    step "compare-$name" "sample-$name" "fit-$name" "gla-$name" "maxent-$name" "smoothed-$name" \
        --makes "$name.comparison.txt" -- \
        compare "$name" "$data"
}

compare() { # NAME TABLEAUX: in the directory of the results, so that the table has short names
    local name=$1
    (cd "$OUT" && PYTHONPATH="$ROOT${PYTHONPATH:+:$PYTHONPATH}" ot compare "$name.tsv" \
        "$name" "$name-ml" "$name-gla" "$name-maxent" "$name-maxent-smoothed" --quiet) >"$OUT/$name.comparison.txt"
}

draw() { # NAME DIRECTORY FORMAT BESIDE…
    local name=$1 directory=$2 format=$3 beside=() other
    shift 3
    for other in "$@"; do
        beside+=(--beside "$OUT/$other")
    done
    ot plot "$OUT/$name" --output "$directory" --format "$format" ${beside[@]+"${beside[@]}"}
}

tell() { # NAME BESIDE…: a page that tells of the posterior
    local name=$1 beside=() other
    shift
    for other in "$@"; do
        beside+=(--beside "$OUT/$other")
    done
    ot report "$OUT/$name" --output "$OUT/$name.html" ${beside[@]+"${beside[@]}"}
}

# Observed beside predicted shares of every candidate, in percent, one column for each grammar.
shares() { # NAME COLUMN=GRAMMAR…
    tables shares "$OUT" "$@"
}

report() {
    echo "Table 3: ordering relations"
    grep -v '^at work for ' "$OUT/logs/table-3.log"
    echo
    echo "Figure 1: Ilokano reduplication"
    ot predict "$OUT/ilokano" "$OUT/ilokano.tsv"
    tables posterior "$OUT/ilokano" | grep -v 'run directory'
    echo
    echo "Tables 6 to 8: Spanish diminutives, percent"
    shares spanish Gibbs=spanish ML=spanish-ml MaxEnt=spanish-maxent "MaxEnt, V=10=spanish-maxent-smoothed" | table
    grep 'no finite optimum' "$OUT/logs/maxent-spanish.log" || true
    echo
    cat "$OUT/spanish.comparison.txt"
    echo
    echo "Finnish genitive plurals, percent"
    shares finnish Gibbs=finnish ML=finnish-ml MaxEnt=finnish-maxent "MaxEnt, V=10=finnish-maxent-smoothed" | table
    echo
    tables posterior "$OUT/finnish" | grep -v -e 'run directory' -e '^warning: these candidates'
    echo
    cat "$OUT/finnish.comparison.txt"
    echo "run directory: $OUT"
}

main() {
    local positional=() data name file
    ITERATIONS=2000 SEEDS=100 TRIALS=200000 SEED=1 FORMAT=svg NO_PLOTS=0
    parse_options --overwrite --no-plots --output= --iterations= --seeds= --trials= --seed= --format= -- "$@"
    [ ${#positional[@]} = 1 ] || die "expected one DATA_DIR; see --help"
    data=${positional[0]}
    need_numbers --iterations --seeds --trials --seed
    : "${OUT:=runs/ot-lin2005}"
    for name in lin2005-table2 lin2005-ilokano-reduplication lin2005-spanish-diminutives finnish-genitive-plurals; do
        [ -f "$data/$name.tsv" ] || die "there is no $name.tsv in $data"
    done

    prepare_python_to_draw
    hold_output
    for name in table2=lin2005-table2 ilokano=lin2005-ilokano-reduplication spanish=lin2005-spanish-diminutives \
        finnish=finnish-genitive-plurals; do
        file=$OUT/${name%%=*}.tsv
        cmp -s "$data/${name#*=}.tsv" "$file" || cp "$data/${name#*=}.tsv" "$file"
    done
    # What the random steps depend on besides the tableaux.
    printf '%s\n' "$ITERATIONS" "$SEEDS" "$TRIALS" "$SEED" >"$OUT/settings"

    step table-3 "$OUT/table2.tsv" --makes logs/table-3.log -- ot orderings "$OUT/table2.tsv"
    step sample-ilokano "$OUT/ilokano.tsv" "$OUT/settings" --makes ilokano logs/sample-ilokano.log -- sample ilokano
    learn spanish
    learn finnish
    if [ "$NO_PLOTS" = 0 ]; then
        step figure-1 sample-ilokano --makes figure-1 -- draw ilokano "$OUT/figure-1" "$FORMAT"
        for name in spanish finnish; do
            step "plot-$name" "compare-$name" --makes "plots-$name" -- \
                draw "$name" "$OUT/plots-$name" "$FORMAT" "$name-gla" "$name-maxent-smoothed"
        done
    fi
    step report-ilokano sample-ilokano --makes ilokano.html -- tell ilokano
    for name in spanish finnish; do
        step "report-$name" "compare-$name" --makes "$name.html" -- tell "$name" "$name-gla" "$name-maxent-smoothed"
    done
    report >"$OUT/table.txt"
    cat "$OUT/table.txt"
    say "reports: $(short "$OUT/ilokano.html"), $(short "$OUT/spanish.html"), $(short "$OUT/finnish.html")"
}

main "$@"
