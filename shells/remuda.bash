# Completion of remuda's commands in bash; what may come next is asked of `remuda complete`.
_remuda_complete() {
    local line=${COMP_LINE:0:COMP_POINT} word found=() name=${1##*/} files=
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word=${words[-1]}
    while IFS= read -r line; do
        if [[ $line == $'\t' ]]; then files=1; else found+=("${line%%$'\t'*}"); fi
    done < <("${_remuda_program:-remuda}" complete "$name" "${words[@]:1}" 2>/dev/null)
    # Readline breaks words at = and :, and puts in what stands behind.
    local break=${word##*[=:]}
    break=${word:0:${#word}-${#break}}
    COMPREPLY=("${found[@]#"$break"}")
    [[ -n $files ]] && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${word#"$break"}")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    [[ -n $files ]] && compopt -o filenames
    return 0
}
# shellcheck disable=SC2046
complete -F _remuda_complete remuda $("${_remuda_program:-remuda}" commands 2>/dev/null)
