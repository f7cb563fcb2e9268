# Completion of remuda's commands in fish; what may come next is asked of `remuda complete`.
function __remuda_complete
    set -l words (commandline -opc)
    set -l name (string replace -r '.*/' '' -- $words[1])
    set -l rest $words[2..-1]
    set -l word (commandline -ct)
    for line in (remuda complete $name $rest "$word" 2>/dev/null)
        if test "$line" = \t
            __fish_complete_path "$word"
        else
            echo $line
        end
    end
end
for name in remuda (remuda commands 2>/dev/null)
    complete -c $name -f -a '(__remuda_complete)'
end
