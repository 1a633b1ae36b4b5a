import type { Check } from "./checks.ts";
import { memberName, type Report, stringValue, type Visitor } from "./syntax.ts";
import { isTest } from "./tree.ts";

/** What is nowhere in this tree: silenced checks, switched-off tests, loose ends, hidden state. */
export const banned: Check = {
  isAbout: () => true,
  looks(path) {
    const product = /^(src|contracts)\//.test(path) && !isTest(path);
    return [
      bannedComments(path === mustNotCompile ? "@ts-expect-error" : undefined),
      bannedSyntax,
      ...(product ? [moduleState, spreadLists] : []),
      ...(product && path !== registry ? [vendorComparisons] : []),
    ];
  },
};

/** The one file whose business is what vendors are called. */
const registry = "src/vendors/registry.ts";

/** The one file that says what must not compile, by comments that fail where it does compile. */
const mustNotCompile = "tests/contracts/client_types_test.ts";

const silencers = /@ts-(ignore|expect-error|nocheck)|deno-(lint|fmt|coverage)-ignore/;
const looseEnds = /\b(TODO|FIXME|XXX)\b/;

function bannedComments(allowed?: string) {
  return (report: Report, comments: readonly Deno.lint.Node[]): Visitor => {
    for (const comment of comments) {
      if (comment.type !== "Line" && comment.type !== "Block") continue;
      const found = silencers.exec(comment.value) ?? looseEnds.exec(comment.value);
      if (found === null || found[0] === allowed) continue;
      report(comment, `comment says ${found[0]}; do it instead`);
    }
    return {};
  };
}

function bannedSyntax(report: Report): Visitor {
  return {
    TSAnyKeyword: (node) => report(node, "any: name the type, or take unknown and look at it"),
    CallExpression: (node) => {
      const name = memberName(node.callee) ?? "";
      if (/^(Deno\.test|describe|it|test)\.(ignore|skip|only)$|\.only$/.test(name)) {
        report(node, `${name}: every test runs, always`);
      }
      if (name === "Deno.test" || name.endsWith(".step")) switchedOff(node, report);
    },
  };
}

/** `ignore: true` and `only: true`; a condition (`ignore: !databaseIsThere`) is counted as a skip. */
function switchedOff(call: Deno.lint.CallExpression, report: Report): void {
  for (const argument of call.arguments) {
    if (argument.type !== "ObjectExpression") continue;
    for (const property of argument.properties) {
      if (property.type !== "Property" || property.key.type !== "Identifier") continue;
      const literal = property.value.type === "Literal" && property.value.value === true;
      if (literal && /^(ignore|only)$/.test(property.key.name)) {
        report(property, `${property.key.name}: true; every test runs, always`);
      }
    }
  }
}

/** Beyond some hundred thousand arguments a call throws; most lists are as long as somebody wants. */
function spreadLists(report: Report): Visitor {
  return {
    CallExpression: ({ callee, arguments: given }) => {
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
      if (!takesLists.test(callee.property.name)) return;
      const spread = given.find((argument) => argument.type === "SpreadElement");
      if (spread) report(spread, `${callee.property.name}(...list): see src/base/lists.ts`);
    },
  };
}

const takesLists = /^(push|unshift|splice|concat|max|min|fromCharCode|fromCodePoint)$/;

function moduleState(report: Report): Visitor {
  const look = (node: Deno.lint.Node | null) => {
    if (node?.type !== "VariableDeclaration") return;
    if (node.kind !== "const") report(node, `module-level ${node.kind}: build it and pass it on`);
    for (const { init } of node.declarations) {
      if (init && isEmptyContainer(init)) {
        report(init, "module-level container that is filled later: build it and pass it on");
      }
    }
  };
  return {
    Program: (node) => node.body.forEach(look),
    ExportNamedDeclaration: (node) => look(node.declaration),
    PropertyDefinition: (node) => {
      if (node.static && !node.readonly) report(node, "static field that can change: pass it on");
    },
  };
}

function isEmptyContainer(node: Deno.lint.Node): boolean {
  if (node.type === "ArrayExpression") return node.elements.length === 0;
  if (node.type === "ObjectExpression") return node.properties.length === 0;
  if (node.type !== "NewExpression" || node.callee.type !== "Identifier") return false;
  return /^(Weak)?(Map|Set)$/.test(node.callee.name) && node.arguments.length === 0;
}

const vendorName = /^(vendor-[a-z]|openai|anthropic|google|gemini|openrouter|xai|huggingface)$/;

/** `if (vendor === …)` is a missing field of the vendor's row (design.md §2). */
function vendorComparisons(report: Report): Visitor {
  const look = (node: Deno.lint.Node | null) => {
    const name = stringValue(node);
    if (node === null || name === undefined || !vendorName.test(name)) return;
    report(node, `compares with vendor name '${name}'; add a field to the vendor's row instead`);
  };
  return {
    BinaryExpression: (node) => {
      if (!/^[!=]==?$/.test(node.operator)) return;
      look(node.left);
      look(node.right);
    },
    SwitchCase: (node) => look(node.test),
  };
}
