import type { Finding } from "./tree.ts";

export type Visitor = Deno.lint.LintVisitor;

/** Who looks at a file's syntax, and where the findings go. */
export interface Look {
  readonly build: Build;
  readonly findings: Finding[];
}

/**
 * Walks the syntax tree of one file with Deno's own parser (`Deno.lint.runPlugin`, which exists
 * in `deno test` only). `build` gets a `report` that turns a node into a finding, and the file's
 * comments. A file that can't be parsed is a finding too. To parse takes longer than to look, so
 * that who looks at the same files looks in one walk.
 */
export function inspect(path: string, text: string, looks: readonly Look[]): void {
  const rules = looks.map(({ build, findings }, index) => {
    const report: Report = (node, message) => {
      findings.push({ path, line: lineAt(text, node.range[0]), message });
    };
    const create = (context: Deno.lint.RuleContext) =>
      build(report, context.sourceCode.getAllComments());
    return [`inspect-${index}`, { create }] as const;
  });
  const plugin = { name: "architecture", rules: Object.fromEntries(rules) };
  try {
    Deno.lint.runPlugin(plugin, path, text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    const message = `can't be parsed: ${reason}`;
    const lists = new Set(looks.map(({ findings }) => findings));
    for (const findings of lists) findings.push({ path, line: 0, message });
  }
}

/** What one check looks at in a file. */
export type Build = (report: Report, comments: readonly Deno.lint.Node[]) => Visitor;

export type Report = (node: { readonly range: Deno.lint.Range }, message: string) => void;

/** The line, from 1, of a place in `text`. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

/** The value of a string literal or of a template without parts, else undefined. */
export function stringValue(node: Deno.lint.Node | null | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type === "TemplateLiteral" && node.expressions.length === 0) {
    return node.quasis[0]?.cooked;
  }
  return undefined;
}

/**
 * `Date.now` for a member of a global object, however it is written: `globalThis.Date.now`,
 * `Date["now"]`. Undefined for anything else.
 */
export function memberName(node: Deno.lint.Node): string | undefined {
  if (node.type === "Identifier") return node.name;
  if (node.type !== "MemberExpression") return undefined;
  const owner = memberName(node.object);
  const property = node.property.type === "Identifier" && !node.computed
    ? node.property.name
    : stringValue(node.property);
  if (owner === undefined || property === undefined) return undefined;
  return owner === "globalThis" ? property : `${owner}.${property}`;
}
