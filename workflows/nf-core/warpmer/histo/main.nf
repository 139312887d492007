process WARPMER_HISTO {
    tag "$meta.id"
    label 'process_single'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/warpmer:0.2.0--h0000000_0':
        'quay.io/biocontainers/warpmer:0.2.0--h0000000_0' }"

    input:
    tuple val(meta), path(index)

    output:
    tuple val(meta), path("*.hist"), emit: histogram
    tuple val("${task.process}"), val('warpmer'), eval("warpmer --version | cut -d ' ' -f 2"), topic: versions, emit: versions_warpmer

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    warpmer histo \\
        $args \\
        --output ${prefix}.hist \\
        $index
    """

    stub:
    def args = task.ext.args ?: ''
    def prefix = task.ext.prefix ?: "${meta.id}"
    """
    echo $args
    touch ${prefix}.hist
    """
}
