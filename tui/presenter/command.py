"""Drive a cluster, or a recording of one, step by step, with narration."""

from pathlib import Path

import click

from kafka_edu.common.python_process import DEFAULT_CLUSTER


@click.command()
@click.argument(
    "script_file",
    metavar="FILE.toml",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--cluster",
    default=DEFAULT_CLUSTER,
    show_default=True,
    metavar="NAME",
    help="The cluster to present on; it must be up.",
)
@click.option(
    "--replay",
    "replay_files",
    multiple=True,
    metavar="RECORDING",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Present on a recording instead; several are merged.",
)
@click.option("--plain", is_flag=True, help="Print only text, without the dashboard.")
@click.option("--from-start", is_flag=True, help="Begin at the first step, not where you stopped.")
@click.option("--check", is_flag=True, help="Only check the file.")
@click.option(
    "--fast", is_flag=True, help="Without keys: continue when the step has seen all its events."
)
def present(
    script_file: Path,
    cluster: str,
    replay_files: tuple[Path, ...],
    plain: bool,
    from_start: bool,
    check: bool,
    fast: bool,
) -> None:
    """Drive a cluster, or a recording of one, step by step, with narration.

    The space key goes forward and backspace goes back; digits choose an answer. Each step waits
    until the events that it describes have happened. docs/presenter.md explains the format of the
    file. If you leave with q, the same command continues from there.
    """
    from kafka_edu.instruments.presenter.script_reader import ScriptError, read_script

    from .run import Scene, run_presentation, screen_names

    try:
        script = read_script(script_file, screen_names())
    except ScriptError as error:
        raise click.ClickException(str(error)) from error
    if check:
        click.echo(f"{script_file}: '{script.title}', {len(script.steps)} steps")
        return
    scene = Scene.of_recordings(replay_files) if replay_files else Scene.of_cluster(cluster)
    run_presentation(script, script_file, scene, plain=plain, fast=fast, from_start=from_start)
