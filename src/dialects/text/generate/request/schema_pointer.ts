/** Of a pointer and of each step: names may be long, and the losses below them many. */
const maxPointer = 400;
const maxStep = 200;

/** A place within a place; of what lies very deep the outer one. */
export function below(pointer: string, name: string): string {
  return pointer.length > maxPointer ? pointer : `${pointer}/${step(name)}`;
}

/** One step of a JSON pointer in the form for fragments: plain ASCII without commas. */
function step(name: string): string {
  const escaped = name.slice(0, maxStep).replaceAll("~", "~0").replaceAll("/", "~1");
  return encodeURIComponent(escaped.toWellFormed());
}
