/** Types of the vendors' client libraries, and values that have every field of a type. */
import ts from "typescript";

export type Json = Record<string, unknown>;

/** A value of a type. It differs from the type's first value only at `changed`. */
export interface Sample {
  readonly value: unknown;
  readonly changed: readonly (string | number)[];
}

/** How to fill a type whose fields exclude each other, or mean something beyond their type. */
export interface SampleRules {
  /** Of these fields a value of the type has one, and its first value the first. */
  readonly exclusive: Readonly<Record<string, readonly string[]>>;
  /** Fields of a type that take another one's place, or its effect: they have samples of their own. */
  readonly rare: Readonly<Record<string, readonly string[]>>;
  /** Fields that are left out, of types by their name; `*` stands for all types. */
  readonly absent: Readonly<Record<string, readonly string[]>>;
  /** Returns the value of a field that may be any text, or any number. */
  readonly text: (field: string) => string;
  readonly number: (field: string) => number;
}

/** The few types of the language that the libraries' types are made of. */
const languageFile = "/language.d.ts";
const language = `
interface Array<T> { length: number; [index: number]: T }
interface ReadonlyArray<T> { readonly length: number; readonly [index: number]: T }
interface Boolean {} interface Function {} interface CallableFunction {}
interface NewableFunction {} interface IArguments {} interface Number {} interface Object {}
interface RegExp {} interface String {}
type Record<K extends keyof any, T> = { [P in K]: T };
type Partial<T> = { [P in keyof T]?: T[P] };
type Required<T> = { [P in keyof T]-?: T[P] };
type Pick<T, K extends keyof T> = { [P in K]: T[P] };
type Exclude<T, U> = T extends U ? never : T;
type Extract<T, U> = T extends U ? T : never;
type Omit<T, K extends keyof any> = Pick<T, Exclude<keyof T, K>>;
type NonNullable<T> = T & {};
`;

const options: ts.CompilerOptions = {
  noLib: true,
  types: [],
  strict: true,
  skipLibCheck: true,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
};

/** Reads only the files that describe requests and answers, not the clients around them. */
function compilerHost(): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const read = host.readFile.bind(host);
  const text = (name: string) => name === languageFile ? language : read(name);
  return {
    ...host,
    fileExists: (name) => text(name) !== undefined,
    readFile: text,
    getSourceFile: (name, version) => ts.createSourceFile(name, text(name) ?? "", version),
    resolveModuleNameLiterals: (literals, from) =>
      literals.map((literal) => {
        const url = new URL(literal.text.replace(/\.m?js$/, ".d.ts"), `file://${from}`);
        const isInside = literal.text.startsWith(".") && url.pathname.includes("/resources/");
        const resolvedModule = { resolvedFileName: url.pathname, extension: ".d.ts" };
        return { resolvedModule: isInside ? resolvedModule : undefined };
      }),
  };
}

export class LibraryTypes {
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;
  readonly #rules: SampleRules;

  constructor(files: readonly string[], rules: SampleRules) {
    this.#program = ts.createProgram([languageFile, ...files], options, compilerHost());
    this.#checker = this.#program.getTypeChecker();
    this.#rules = rules;
  }

  /** Values of the type that a file exports, which together have every field and every member. */
  samples(file: string, name: string): Sample[] {
    return this.#samples(this.#type(file, name), "", []);
  }

  #type(file: string, name: string): ts.Type {
    const source = this.#program.getSourceFile(file);
    const module = source && this.#checker.getSymbolAtLocation(source);
    const found = module && this.#checker.getExportsOfModule(module)
      .find((one) => one.name === name);
    if (!found) throw new Error(`${file} exports no ${name}`);
    const isAlias = (found.flags & ts.SymbolFlags.Alias) !== 0;
    const symbol = isAlias ? this.#checker.getAliasedSymbol(found) : found;
    return this.#checker.getDeclaredTypeOfSymbol(symbol);
  }

  #samples(type: ts.Type, field: string, outer: readonly ts.Type[]): Sample[] {
    if (type.isUnion()) return this.#ofUnion(type, field, outer);
    const plain = this.#plain(type, field);
    if (plain !== undefined) return plain.map((value) => ({ value, changed: [] }));
    if (outer.includes(type) || type.getCallSignatures().length > 0) return [];
    const inner = [...outer, type];
    if (this.#checker.isArrayType(type) || this.#checker.isTupleType(type)) {
      const [element] = this.#checker.getTypeArguments(type as ts.TypeReference);
      const elements = element ? this.#samples(element, field, inner) : [];
      return elements.map((one) => within(0, one, (value) => [value]));
    }
    return this.#ofObject(type, inner);
  }

  #ofUnion(type: ts.UnionType, field: string, outer: readonly ts.Type[]): Sample[] {
    const members = type.types.flatMap((one) => this.#samples(one, field, outer));
    // Names of models change often, and nothing depends on the type's list of them.
    const isModel = field === "model" && typeof members[0]?.value === "string";
    return isModel ? [{ value: "model", changed: [] }] : members;
  }

  /** Values of a type without fields; undefined for any other. */
  #plain(type: ts.Type, field: string): unknown[] | undefined {
    const { flags } = type;
    if (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null)) return [];
    if (type.isStringLiteral() || type.isNumberLiteral()) return [type.value];
    if (flags & ts.TypeFlags.BooleanLiteral) {
      return this.#checker.typeToString(type) === "true" ? [true] : [];
    }
    if (flags & ts.TypeFlags.StringLike) return [this.#rules.text(field)];
    if (flags & ts.TypeFlags.NumberLike) return [this.#rules.number(field)];
    if (flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return [{ any: "any" }];
    // `string & {}`: any text beside the names that the type lists.
    const isText = type.isIntersection() &&
      type.types.some((one) => one.flags & ts.TypeFlags.String);
    return isText ? [this.#rules.text(field)] : undefined;
  }

  #ofObject(type: ts.Type, inner: readonly ts.Type[]): Sample[] {
    const typeName = type.symbol?.name ?? "";
    const exclusive = this.#rules.exclusive[typeName] ?? [];
    const rare = this.#rules.rare[typeName] ?? [];
    const absent = [...this.#rules.absent["*"] ?? [], ...this.#rules.absent[typeName] ?? []];
    const first: Json = {};
    const others: Sample[] = [];
    for (const property of this.#checker.getPropertiesOfType(type)) {
      const { name } = property;
      if (absent.includes(name) || !isField(property)) continue;
      const samples = this.#samples(this.#checker.getTypeOfSymbol(property), name, inner);
      const isOther = rare.includes(name) ||
        (exclusive.includes(name) && name !== exclusive[0]);
      if (samples.length > 0 && !isOther) first[name] = samples[0]!.value;
      for (const sample of isOther ? samples : samples.slice(1)) {
        others.push({ ...sample, changed: [name, ...sample.changed] });
      }
    }
    const index = this.#checker.getIndexInfosOfType(type)[0];
    if (index && Object.keys(first).length === 0) {
      return this.#samples(index.type, "", inner)
        .map((one) => within("any", one, (value) => ({ any: value })));
    }
    const whole = ({ value, changed }: Sample): Json => {
      const [name] = changed as [string];
      const isExclusive = exclusive.includes(name);
      const rest = Object.entries(first).filter(([key]) =>
        !isExclusive || !exclusive.includes(key)
      );
      return { ...Object.fromEntries(rest), [name]: value };
    };
    return [
      { value: first, changed: [] },
      ...others.map((one) => ({ ...one, value: whole(one) })),
    ];
  }
}

function within(
  step: string | number,
  sample: Sample,
  wrap: (value: unknown) => unknown,
): Sample {
  const { value, changed } = sample;
  return { ...sample, value: wrap(value), changed: [step, ...changed] };
}

function isField(property: ts.Symbol): boolean {
  const declaration = property.valueDeclaration ?? property.declarations?.[0];
  return declaration !== undefined && !ts.isGetAccessor(declaration) &&
    !ts.isMethodDeclaration(declaration) && !ts.isMethodSignature(declaration);
}
