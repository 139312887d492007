# Bash completion for warpmer; written by `warpmer completion bash`.

_warpmer() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} options arguments
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W 'count plan update union intersect subtract symmetric-difference merge compare matrix histo dump convert query qv filter positions locate stats info devices help completion --help --version' -- "$word"))
    return
  fi
  case ${COMP_WORDS[1]} in
    count)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --to) COMPREPLY=($(compgen -W 'wmi kmc kff jellyfish tsv fasta' -- "$word")); return ;;
        --reference) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --table) COMPREPLY=($(compgen -W 'auto warpdrive slab bcht iceberg hashgraph' -- "$word")); return ;;
        --stats) COMPREPLY=($(compgen -f -- "$word")); return ;;
        -k|-t|--threads|-m|--memory|--tmp-dir|--min-count|--max-count|--min-base-quality|--device|--device-memory) return ;;
      esac
      options='-h --help -k -o --output --to -t --threads -m --memory --tmp-dir --min-count --max-count --forward --lenient --min-base-quality --reference --device --device-memory --table --dry-run --progress --stats --force -q --quiet --strict'
      arguments='' ;;
    plan)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --to) COMPREPLY=($(compgen -W 'wmi kmc kff jellyfish tsv fasta' -- "$word")); return ;;
        --reference) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --table) COMPREPLY=($(compgen -W 'auto warpdrive slab bcht iceberg hashgraph' -- "$word")); return ;;
        -k|-t|--threads|-m|--memory|--tmp-dir|--min-count|--max-count|--min-base-quality|--device|--device-memory|--sample) return ;;
      esac
      options='-h --help -k -o --output --to -t --threads -m --memory --tmp-dir --min-count --max-count --forward --lenient --min-base-quality --reference --device --device-memory --table --full --sample --json --progress --force -q --quiet --strict'
      arguments='' ;;
    update)
      case $previous in
        --add) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --remove) COMPREPLY=($(compgen -f -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --reference) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --stats) COMPREPLY=($(compgen -f -- "$word")); return ;;
        -t|--threads|-m|--memory|--tmp-dir|--min-base-quality|--device|--device-memory) return ;;
      esac
      options='-h --help --add --remove -o --output -t --threads -m --memory --tmp-dir --paged --lenient --min-base-quality --reference --device --device-memory --progress --stats --force -q --quiet --strict'
      arguments='' ;;
    union)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --to) COMPREPLY=($(compgen -W 'wmi kmc kff jellyfish tsv fasta' -- "$word")); return ;;
        --counts) COMPREPLY=($(compgen -W 'sum min max first last samples' -- "$word")); return ;;
        --stats) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --input-min-count|--input-max-count|--min-samples|--min-count|--max-count|-t|--threads|-m|--memory) return ;;
      esac
      options='-h --help --input-min-count --input-max-count -o --output --to --counts --min-samples --min-count --max-count -t --threads -m --memory --progress --stats --force -q --quiet --strict'
      arguments='' ;;
    intersect)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --to) COMPREPLY=($(compgen -W 'wmi kmc kff jellyfish tsv fasta' -- "$word")); return ;;
        --counts) COMPREPLY=($(compgen -W 'min sum max first last samples' -- "$word")); return ;;
        --stats) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --input-min-count|--input-max-count|--min-samples|--min-count|--max-count|-t|--threads|-m|--memory) return ;;
      esac
      options='-h --help --input-min-count --input-max-count -o --output --to --counts --min-samples --min-count --max-count -t --threads -m --memory --progress --stats --force -q --quiet --strict'
      arguments='' ;;
    subtract)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --to) COMPREPLY=($(compgen -W 'wmi kmc kff jellyfish tsv fasta' -- "$word")); return ;;
        --counts) COMPREPLY=($(compgen -W 'first difference' -- "$word")); return ;;
        --stats) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --input-min-count|--input-max-count|--min-count|--max-count|-t|--threads|-m|--memory) return ;;
      esac
      options='-h --help --input-min-count --input-max-count -o --output --to --counts --min-count --max-count -t --threads -m --memory --progress --stats --force -q --quiet --strict'
      arguments='' ;;
    symmetric-difference)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --to) COMPREPLY=($(compgen -W 'wmi kmc kff jellyfish tsv fasta' -- "$word")); return ;;
        --stats) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --input-min-count|--input-max-count|--min-count|--max-count|-t|--threads|-m|--memory) return ;;
      esac
      options='-h --help --input-min-count --input-max-count -o --output --to --min-count --max-count -t --threads -m --memory --progress --stats --force -q --quiet --strict'
      arguments='' ;;
    merge)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --to) COMPREPLY=($(compgen -W 'wmi kmc kff jellyfish tsv fasta' -- "$word")); return ;;
        --stats) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --input-min-count|--input-max-count|--min-samples|--min-count|--max-count|-t|--threads|-m|--memory) return ;;
      esac
      options='-h --help --input-min-count --input-max-count -o --output --to --min-samples --min-count --max-count -t --threads -m --memory --progress --stats --force -q --quiet --strict'
      arguments='' ;;
    compare)
      case $previous in
        --format) COMPREPLY=($(compgen -W 'tsv matrix phylip' -- "$word")); return ;;
        --measure) COMPREPLY=($(compgen -W 'jaccard containment ruzicka cosine mash' -- "$word")); return ;;
        --svg) COMPREPLY=($(compgen -f -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --input-min-count|--input-max-count|-t|--threads|-m|--memory) return ;;
      esac
      options='-h --help --input-min-count --input-max-count --format --measure --svg -o --output -t --threads -m --memory --progress --force -q --quiet --strict'
      arguments='' ;;
    matrix)
      case $previous in
        --append) COMPREPLY=($(compgen -f -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --input-min-count|--input-max-count|--min-samples|-t|--threads|-m|--memory) return ;;
      esac
      options='-h --help --input-min-count --input-max-count --append --presence --min-samples -o --output -t --threads -m --memory --progress --force -q --quiet --strict'
      arguments='' ;;
    histo)
      case $previous in
        --format) COMPREPLY=($(compgen -W 'plain genomescope jellyfish kat' -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --max-count) return ;;
      esac
      options='-h --help --dense --format --max-count --cut -o --output --force -q --quiet --strict'
      arguments='' ;;
    dump)
      case $previous in
        --format) COMPREPLY=($(compgen -W 'tsv fasta' -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --min-count|--max-count|-t|--threads|-m|--memory) return ;;
      esac
      options='-h --help --sort --format --min-count --max-count -o --output -t --threads -m --memory --progress --force -q --quiet --strict'
      arguments='' ;;
    convert)
      case $previous in
        --to) COMPREPLY=($(compgen -W 'wmi kmc kff jellyfish tsv fasta' -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --counter-bytes|-t|--threads|-m|--memory) return ;;
      esac
      options='-h --help --to -o --output --counter-bytes --saturate --forward --canonical --sum-duplicates -t --threads -m --memory --progress --force -q --quiet --strict'
      arguments='' ;;
    query)
      case $previous in
        --kmers) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --reads) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --format) COMPREPLY=($(compgen -W 'tsv bedgraph bed' -- "$word")); return ;;
        --reference) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --table) COMPREPLY=($(compgen -W 'auto index bcht iceberg' -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --min-count|--max-count|--min-base-quality|-t|--threads|--device|--device-memory) return ;;
      esac
      options='-h --help --kmers --reads --profile --format --min-count --max-count --no-header --exit-status --progress --lenient --min-base-quality --reference -t --threads --device --device-memory --table -o --output --force -q --quiet --strict'
      arguments='' ;;
    qv)
      case $previous in
        --sequences) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --reference) COMPREPLY=($(compgen -f -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --solid-count|--min-base-quality|-t|--threads) return ;;
      esac
      options='-h --help --sequences --solid-count --lenient --min-base-quality --reference -t --threads --progress --json -o --output --force -q --quiet --strict'
      arguments='' ;;
    filter)
      case $previous in
        -1|--in1) COMPREPLY=($(compgen -f -- "$word")); return ;;
        -2|--in2) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --pairs) COMPREPLY=($(compgen -W 'any both' -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --out1) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --out2) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --stats) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --reference) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --min-kmers|--max-kmers|--min-fraction|--max-fraction|--min-count|--max-count|--min-length|-l|--compress-level|--min-base-quality|-t|--threads|--device|--device-memory) return ;;
      esac
      options='-h --help --min-kmers --max-kmers --min-fraction --max-fraction --min-count --max-count -v --invert -1 --in1 -2 --in2 --interleaved --by-order --pairs --trim --min-length --mask -o --output --out1 --out2 --names-only --bgzf -l --compress-level --stats --progress --lenient --min-base-quality --reference -t --threads --device --device-memory --force -q --quiet --strict'
      arguments='' ;;
    positions)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --reference) COMPREPLY=($(compgen -f -- "$word")); return ;;
        -k|-t|--threads|-m|--memory|--min-base-quality) return ;;
      esac
      options='-h --help -k -o --output -t --threads -m --memory --forward --lenient --min-base-quality --reference --progress --force -q --quiet --strict'
      arguments='' ;;
    locate)
      case $previous in
        --kmers) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --reads) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --reference) COMPREPLY=($(compgen -f -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --max-hits|--min-base-quality|-t|--threads) return ;;
      esac
      options='-h --help --kmers --reads --max-hits --summary --no-header --exit-status --progress --lenient --min-base-quality --reference -t --threads -o --output --force -q --quiet --strict'
      arguments='' ;;
    stats)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
      esac
      options='-h --help --json -o --output --tsv --force -q --quiet --strict'
      arguments='' ;;
    info)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
      esac
      options='-h --help --json -o --output --force -q --quiet --strict'
      arguments='' ;;
    devices)
      case $previous in
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
      esac
      options='-h --help --json -o --output --force -q --quiet --strict'
      arguments='' ;;
    help)
      case $previous in
      esac
      options='-h --help --man -q --quiet --strict'
      arguments='count plan update union intersect subtract symmetric-difference merge compare matrix histo dump convert query qv filter positions locate stats info devices help completion' ;;
    completion)
      case $previous in
      esac
      options='-h --help -q --quiet --strict'
      arguments='bash zsh fish' ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ -n $arguments ]]; then
    COMPREPLY=($(compgen -W "$arguments" -- "$word"))
  elif [[ $word == @* ]]; then
    COMPREPLY=($(compgen -P @ -f -- "${word#@}"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}

complete -o filenames -F _warpmer warpmer
