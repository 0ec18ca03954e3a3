// The types of the page's data. Written by crates/report/tests/types.rs, never by hand:
//     WRITE_TYPES=1 cargo test -p preemptlab-report --test types

/**
 * Cause of a part of a section.
 */
export type AtlasCause = {
/**
 * The cause in words.
 */
words: string,
/**
 * Name of its colour.
 */
look: string, };

/**
 * The longest sections of a class, of each cell.
 */
export type AtlasClass = {
/**
 * Lengths, in nanoseconds; `null` where there is none.
 */
ns: (number | null)[],
/**
 * Their kinds.
 */
kind: Array<number>,
/**
 * Their functions, as texts.
 */
function: Array<number>, };

/**
 * Configuration of an atlas.
 */
export type AtlasColumn = {
/**
 * The kernel as the experiment names it.
 */
kernel: string,
/**
 * The mode, settings and machine.
 */
rest: string,
/**
 * The preemption model: the mode, or `rt`.
 */
model: string,
/**
 * Number of virtual CPUs.
 */
cpus: number, };

/**
 * Everything that the page of an atlas shows, as a script reads it: texts once, numbers in lists. Every text in it
 * may be hostile. A number of a text is its place in [`Self::texts`], of which the first is empty. Lists of cells
 * go through the columns of a load before the next load.
 */
export type AtlasData = {
/**
 * Title of the atlas, for the heading and the window.
 */
title: string,
/**
 * Program that made the page, such as `preemptlab 0.1.0`.
 */
generator: string,
/**
 * How much the atlas holds, in one sentence.
 */
headline: string,
/**
 * The longest sections, those of each model, and further notes; a sentence each.
 */
points: Array<string>,
/**
 * Meaning of the classes, and the limits of what a guest can show.
 */
caption: string,
/**
 * The recording, as the user named it.
 */
recording: string,
/**
 * Texts that numbers refer to.
 */
texts: Array<string>,
/**
 * Kinds of sections in words.
 */
kinds: Array<string>,
/**
 * Causes of parts.
 */
causes: Array<AtlasCause>,
/**
 * The configurations.
 */
columns: Array<AtlasColumn>,
/**
 * Names of the loads.
 */
loads: Array<string>,
/**
 * Number of replicates with sections, of each cell; `null` where the plan has no cell.
 */
measured: Array<number | null>,
/**
 * The reason why a replicate has none, of each cell, as a text.
 */
reasons: Array<number>,
/**
 * The longest sections of class P.
 */
p: AtlasClass,
/**
 * The longest sections of class N.
 */
n: AtlasClass,
/**
 * The sections by kind and function, the longest first.
 */
sections: Array<AtlasFunction>, };

/**
 * Details of the cells' longest sections. They are most of a page, and stand behind its script, so that the map
 * is drawn before they are read.
 *
 * A section is a list of numbers: its replicate, the function inside (a text), the task (a text), the levels of
 * the kernel (a text), the nanoseconds that it waited for other CPUs, the number of its callers, the callers
 * (texts), and for each part its nanoseconds, its cause and its function (a text). The list of a cell without a
 * section is empty.
 */
export type AtlasDetails = {
/**
 * The sections of class P, of each cell.
 */
p: number[][],
/**
 * The sections of class N, of each cell.
 */
n: number[][], };

/**
 * Sections of a kind in a function, over all cells.
 */
export type AtlasFunction = {
/**
 * Whether they are of class P.
 */
is_p: boolean,
/**
 * The kind.
 */
kind: number,
/**
 * The function, as a text.
 */
function: number,
/**
 * The function in which the longest one spent more time than in any other, as a text.
 */
inside: number,
/**
 * Length of the longest, in nanoseconds.
 */
longest_ns: number,
/**
 * The load of the longest.
 */
load: number,
/**
 * The configuration of the longest.
 */
column: number,
/**
 * Number of sections.
 */
count: number,
/**
 * All of them together, in nanoseconds.
 */
total_ns: number,
/**
 * Number of loads that have one.
 */
loads: number,
/**
 * Length of the longest in each configuration, in nanoseconds; `null` where there is none.
 */
by_column: (number | null)[],
/**
 * Models that end it.
 */
ended_by: Array<string>, };
