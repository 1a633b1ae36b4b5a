import type { Check } from "./checks.ts";
import type { Build } from "./syntax.ts";
import { codeFiles, type Finding, type Tree } from "./tree.ts";

/** Lines; style.md rule 2. */
export const limits = { file: 600, function: 70, median: 120 } as const;

/** Files and functions that are too long. A function's lines include those nested in it. */
export const sizes: Check = {
  isAbout: () => true,
  looks: (_, text) => [longFunctions(text)],
  concludes: (seen, tree) => [...longFiles(tree), ...seen],
};

function longFiles(tree: Tree): Finding[] {
  return codeFiles(tree).flatMap((path) => {
    const lines = lineCount(tree.get(path) ?? "");
    if (lines <= limits.file) return [];
    const message = `has ${lines} lines, at most ${limits.file}; split it by idea`;
    return [{ path, line: 0, message }];
  });
}

/** Lines of the file in the middle, product and tests together; 0 for an empty tree. */
export function medianLines(tree: Tree): number {
  const counts = codeFiles(tree).map((path) => lineCount(tree.get(path) ?? ""));
  counts.sort((a, b) => a - b);
  return counts[Math.floor(counts.length / 2)] ?? 0;
}

function longFunctions(text: string): Build {
  return (report) => {
    const measure = (node: Deno.lint.Node) => {
      // Most are so short that nobody has to count their lines.
      if (node.range[1] - node.range[0] < limits.function) return;
      const lines = lineCount(text.slice(...node.range));
      if (lines <= limits.function) return;
      report(node, `function has ${lines} lines, at most ${limits.function}; name its parts`);
    };
    return {
      FunctionDeclaration: measure,
      FunctionExpression: measure,
      ArrowFunctionExpression: measure,
    };
  };
}

function lineCount(text: string): number {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}
