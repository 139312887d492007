process WARPMER_COUNT {
    tag "$meta.id"
    label 'process_high'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/warpmer:0.2.0--h0000000_0':
        'quay.io/biocontainers/warpmer:0.2.0--h0000000_0' }"

    input:
    tuple val(meta), path(reads)

    output:
    tuple val(meta), path("*.wmi"), emit: index
    tuple val("${task.process}"), val('warpmer'), eval("warpmer --version | cut -d ' ' -f 2"), topic: versions, emit: versions_warpmer

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    def memory = task.memory ? "--memory ${task.memory.toMega()}M" : ''
    """
    warpmer count \\
        $args \\
        --threads $task.cpus \\
        $memory \\
        --tmp-dir . \\
        --output ${prefix}.wmi \\
        $reads
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    echo $args
    touch ${prefix}.wmi
    """
}
