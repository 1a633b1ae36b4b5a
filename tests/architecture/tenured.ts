import type { Check } from "./checks.ts";
import type { Report, Visitor } from "./syntax.ts";
import { isTest } from "./tree.ts";

/**
 * V8 puts some of what a call makes into the old generation at once, however short its life: a
 * function literal that is assigned to a member, and the maps of literals with accessors, of classes
 * and of generator functions that are made anew. From there each holds whatever its scope holds, the
 * whole call, until a major collection: every scavenge copied it twice. With a handful of such lines
 * a tenth of all garbage was taken for alive (docs/decisions, 0331).
 */
export const tenured: Check = {
  isAbout: (path) => isOnCallPath(path) && !isTest(path),
  looks: () => [tenuredOf],
};

const folders =
  "base|budgets|credit|dialects|http|idempotency|keys|listener|media|overload|rate_limits|records|relay|response_cache|routing|shared|telemetry|vendors";

function isOnCallPath(path: string): boolean {
  return !once.has(path) && !path.includes("/reference/") &&
    new RegExp(`^(contracts|src/(${folders}))/`).test(path);
}

/** What these make is made once for each process. */
const once: ReadonlySet<string> = new Set([
  "src/listener/accept_target.ts",
  "src/listener/open.ts",
  "src/relay/open_streams.ts",
  "src/routing/models_file.ts",
]);

function tenuredOf(report: Report): Visitor {
  const perCall = (node: Deno.lint.Node, what: string) => {
    if (isInFunction(node)) report(node, `${what} in a function: make it a class of the file`);
  };
  const generator = (node: Deno.lint.FunctionDeclaration | Deno.lint.FunctionExpression) => {
    const isMethod = node.parent?.type === "MethodDefinition";
    if (node.generator && !isMethod) perCall(node, "a generator function");
  };
  return {
    AssignmentExpression({ left, right }) {
      const isLiteral = right.type === "ArrowFunctionExpression" ||
        right.type === "FunctionExpression";
      if (left.type !== "MemberExpression" || !isLiteral) return;
      report(right, "a function literal is assigned to a member: name it first, then assign it");
    },
    Property(node) {
      if (node.kind !== "init") perCall(node, "an accessor of a literal");
    },
    ClassDeclaration: (node) => perCall(node, "a class"),
    ClassExpression: (node) => perCall(node, "a class"),
    FunctionDeclaration: generator,
    FunctionExpression: generator,
  };
}

const functions: ReadonlySet<string> = new Set([
  "FunctionDeclaration",
  "FunctionExpression",
  "ArrowFunctionExpression",
]);

function isInFunction(node: Deno.lint.Node): boolean {
  for (let above = parentOf(node); above !== null; above = parentOf(above)) {
    if (functions.has(above.type)) return true;
  }
  return false;
}

function parentOf(node: Deno.lint.Node): Deno.lint.Node | null {
  return (node as { parent?: Deno.lint.Node | null }).parent ?? null;
}
