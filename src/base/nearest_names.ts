/** Longer names resemble no existing name, and cost too much to compare. */
const maxLength = 100;

/**
 * Returns the candidates for "did you mean": those that differ from `name` by a few typos, the
 * nearest first, at most `most`. Case doesn't matter.
 */
export function nearestNames(name: string, candidates: Iterable<string>, most = 3): string[] {
  if (name === "" || name.length > maxLength) return [];
  const lower = name.toLowerCase();
  const limit = Math.min(3, 1 + Math.floor(name.length / 6));
  const found: { candidate: string; edits: number }[] = [];
  for (const candidate of new Set(candidates)) {
    if (Math.abs(candidate.length - name.length) > limit) continue;
    const edits = editsBetween(lower, candidate.toLowerCase(), limit);
    if (edits <= limit) found.push({ candidate, edits });
  }
  found.sort((a, b) => a.edits - b.edits || (a.candidate < b.candidate ? -1 : 1));
  return found.slice(0, most).map(({ candidate }) => candidate);
}

/** Fewer letters begin too many names. */
const shortestBeginning = 3;

/**
 * Returns the names to suggest for `name`, at most `most`: first those that have it in front and
 * more words behind it (`gpt-5-mini` for `gpt-5`), the shortest first, then the nearest ones.
 */
export function suggestedNames(name: string, candidates: Iterable<string>, most = 3): string[] {
  const all = [...new Set(candidates)];
  const longer = name.length < shortestBeginning ? [] : all.filter((one) => beginsWith(one, name));
  longer.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return [...new Set([...longer, ...nearestNames(name, all, most)])].slice(0, most);
}

function beginsWith(longer: string, name: string): boolean {
  return /^[-_.]/.test(longer.slice(name.length)) &&
    longer.slice(0, name.length).toLowerCase() === name.toLowerCase();
}

/**
 * Whether `longer` has the words of `name`, which `_` separates, in their order, and one more behind
 * the first.
 */
export function lacksOneWord(name: string, longer: string): boolean {
  const [own, all] = [name.split("_"), longer.split("_")];
  return own.length + 1 === all.length &&
    own.some((_, at) => all.toSpliced(at + 1, 1).join("_") === name);
}

/**
 * Counts the characters to insert, remove or replace, and the neighbours to swap, to turn one text
 * into the other. Returns some number above `limit` if it takes more than that.
 */
function editsBetween(from: string, to: string, limit: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    let least = i;
    for (let j = 1; j <= to.length; j++) {
      const isSame = from[i - 1] === to[j - 1];
      let edits = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (isSame ? 0 : 1));
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      if (isSwapped) edits = Math.min(edits, beforeLast[j - 2]! + 1);
      row.push(edits);
      least = Math.min(least, edits);
    }
    if (least > limit) return limit + 1;
    beforeLast = last;
    last = row;
  }
  return last[to.length]!;
}

/** ` Did you mean 'x'?` for the end of a message; empty where nothing is near. */
export function didYouMean(name: string, candidates: Iterable<string>, before = ""): string {
  const [near] = suggestedNames(name, candidates, 1);
  return near === undefined ? "" : ` Did you mean '${before}${near}'?`;
}
