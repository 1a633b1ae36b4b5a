import { type Build, inspect, lineAt, stringValue } from "./syntax.ts";

/** One reference from a file to another file or to a package. */
export interface Import {
  /** As written. */
  readonly specifier: string;
  /** Path in the repository where the specifier is relative, else null. */
  readonly path: string | null;
  readonly line: number;
  /** `import type`: nothing of it is there when the program runs. */
  readonly typeOnly: boolean;
}

/**
 * Every import of a file: static, re-export, dynamic, `new URL("./x.ts", import.meta.url)`,
 * `import.meta.resolve("./x.ts")`, and `programModule("src/x.ts")`, which is how workers name their
 * file.
 */
export function importsOf(path: string, text: string): readonly Import[] {
  const known = parsed.get(path);
  if (known?.text === text) return known.imports;
  inspect(path, text, [{ build: rememberImports(path, text), findings: [] }]);
  return parsed.get(path)!.imports;
}

/** Several checks ask for the same files. */
const parsed = new Map<string, { text: string; imports: readonly Import[] }>();

/** Finds a file's imports on the way of who walks through it, for `importsOf`. */
export function rememberImports(path: string, text: string): Build {
  const found: Import[] = [];
  parsed.set(path, { text, imports: found });
  const add = (node: Deno.lint.Node | null, typeOnly = false) => {
    const specifier = stringValue(node);
    if (node === null || specifier === undefined) return;
    found.push({
      specifier,
      path: resolve(path, specifier),
      line: lineAt(text, node.range[0]),
      typeOnly,
    });
  };
  return () => ({
    ImportDeclaration: (node) => add(node.source, node.importKind === "type"),
    ExportNamedDeclaration: (node) => add(node.source, node.exportKind === "type"),
    ExportAllDeclaration: (node) => add(node.source, node.exportKind === "type"),
    ImportExpression: (node) => add(node.source),
    NewExpression: (node) => {
      if (node.callee.type !== "Identifier" || node.callee.name !== "URL") return;
      const first = node.arguments[0];
      if (node.arguments.length === 2 && first !== undefined && isRelative(first)) add(first);
    },
    // One visitor that looks for itself: selectors with attributes take five times as long.
    CallExpression: ({ callee, arguments: [first = null] }) => {
      if (callee.type === "Identifier" && callee.name === "programModule") {
        const path = stringValue(first);
        if (path === undefined || first === null) return;
        found.push({ specifier: path, path, line: lineAt(text, first.range[0]), typeOnly: false });
      }
      if (callee.type !== "MemberExpression" || callee.object.type !== "MetaProperty") return;
      if (callee.property.type === "Identifier" && callee.property.name === "resolve") add(first);
    },
  });
}

/** A folder's address (`new URL("..", import.meta.url)`) is no import. */
function isRelative(node: Deno.lint.Node): boolean {
  return /^\.\.?\/.*\.\w+$/.test(stringValue(node) ?? "");
}

function resolve(from: string, specifier: string): string | null {
  if (!/^\.\.?\//.test(specifier)) return null;
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
