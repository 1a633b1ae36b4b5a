import type { Build } from "./syntax.ts";

/** A name that a file introduces, and what is known of its type. */
export interface DeclaredName {
  readonly name: string;
  /** Name of its annotated type, `CallDeps`; "" without one. */
  readonly type: string;
  /** Undefined for the name of a file. */
  readonly node?: Deno.lint.Node;
}

type Node = Deno.lint.Node;
type Found = (declared: DeclaredName) => void;

/**
 * Reports every name that a file declares: variables, parameters, functions, types, members. Keys of
 * object literals are left out: they repeat a type's member or a name on the wire.
 */
export function declaredNames(found: Found): Build {
  const parameters = (node: { readonly params: readonly unknown[] }) => {
    for (const parameter of node.params) bound(parameter as Node, found);
  };
  return () => ({
    VariableDeclarator: (node) => bound(node.id, found),
    FunctionDeclaration: (node) => {
      named(node.id, found);
      parameters(node);
    },
    FunctionExpression: parameters,
    ArrowFunctionExpression: parameters,
    TSFunctionType: parameters,
    ClassDeclaration: (node) => named(node.id, found),
    PropertyDefinition: (node) => named(node.key, found, node.typeAnnotation),
    MethodDefinition: (node) => named(node.key, found),
    TSInterfaceDeclaration: (node) => named(node.id, found),
    TSTypeAliasDeclaration: (node) => named(node.id, found),
    TSPropertySignature: (node) => named(node.key, found, node.typeAnnotation),
    TSMethodSignature: (node) => {
      named(node.key, found);
      parameters(node);
    },
    CatchClause: (node) => bound(node.param, found),
  });
}

/** Names of exported declarations: what other files may import. */
export function exportedNames(found: Found): Build {
  return () => ({
    ExportNamedDeclaration: ({ declaration }) => {
      if (declaration === null) return;
      if (declaration.type !== "VariableDeclaration") {
        if ("id" in declaration) named(declaration.id, found);
        return;
      }
      for (const { id } of declaration.declarations) bound(id, found);
    },
  });
}

/** The words of a name in lower case: `readOldRows` → read, old, rows. */
export function wordsIn(name: string): string[] {
  return name.split(/_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .filter((part) => part !== "").map((part) => part.toLowerCase());
}

/** The names that a pattern binds. Shorthand `{ old }` takes a member's name over and makes none. */
function bound(node: Node | null | undefined, found: Found): void {
  if (node?.type === "Identifier") named(node, found, node.typeAnnotation);
  else if (node?.type === "AssignmentPattern") bound(node.left, found);
  else if (node?.type === "RestElement") bound(node.argument, found);
  else if (node?.type === "ArrayPattern") node.elements.forEach((one) => bound(one, found));
  else if (node?.type === "ObjectPattern") {
    for (const property of node.properties) {
      if (property.type === "RestElement") bound(property, found);
      else if (!property.shorthand) bound(property.value, found);
    }
  }
}

function named(node: Node | null | undefined, found: Found, annotation?: unknown): void {
  if (node?.type !== "Identifier" && node?.type !== "PrivateIdentifier") return;
  found({ name: node.name, node, type: typeName(annotation) });
}

function typeName(annotation: unknown): string {
  const type = (annotation as { typeAnnotation?: Node } | null | undefined)?.typeAnnotation;
  if (type?.type !== "TSTypeReference" || type.typeName.type !== "Identifier") return "";
  return type.typeName.name;
}
