import ts from "typescript";

/** Whether this machine has Node and npm, to make and run the client as Node's users get it. */
export function nodeIsThere(): boolean {
  try {
    for (const program of ["node", "npm"]) {
      new Deno.Command(program, { args: ["--version"], stdout: "null" }).outputSync();
    }
    return true;
  } catch {
    return false;
  }
}

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);

/** A folder like somebody's new project, with only the packed client installed. */
export class ClientProject implements AsyncDisposable {
  private constructor(readonly folder: string) {}

  static async create(): Promise<ClientProject> {
    const project = new ClientProject(await Deno.makeTempDir({ prefix: "gateway-consumer-" }));
    try {
      await project.run(Deno.execPath(), ["task", "-q", "sdk:pack", project.folder], root);
      const tarball = [...Deno.readDirSync(project.folder)].find((e) => e.name.endsWith(".tgz"))!;
      project.write("package.json", JSON.stringify({ type: "module", private: true }));
      // Offline, since the client has no dependencies to download.
      const options = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
      await project.run("npm", ["install", ...options, `./${tarball.name}`]);
      return project;
    } catch (error) {
      await project[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Writes a file and returns its path. */
  write(name: string, text: string): string {
    Deno.writeTextFileSync(`${this.folder}/${name}`, text);
    return `${this.folder}/${name}`;
  }

  /**
   * Compiles programs with TypeScript's `strict`, including the client's own declarations, and
   * writes JavaScript beside them. Returns a line for each error.
   */
  compile(files: readonly string[], settings: ts.CompilerOptions = {}): string[] {
    const program = ts.createProgram(files, {
      strict: true,
      skipLibCheck: false,
      skipDefaultLibCheck: true,
      target: ts.ScriptTarget.ES2022,
      lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
      types: [],
      module: ts.ModuleKind.Node16,
      moduleResolution: ts.ModuleResolutionKind.Node16,
      ...settings,
    });
    const found = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
    return found.map(({ file, start, messageText }) => {
      const line = file && start !== undefined
        ? file.getLineAndCharacterOfPosition(start).line
        : -1;
      const name = file?.fileName.split("/").at(-1) ?? "";
      return `${name}:${line + 1} ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    });
  }

  /** Runs a program in the folder and returns its output. Throws if it fails. */
  async run(program: string, args: readonly string[], cwd = this.folder): Promise<string> {
    const { code, stdout, stderr } = await new Deno.Command(program, { args: [...args], cwd })
      .output();
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    if (code !== 0) {
      throw new Error(`${program} ${args.join(" ")} ended with ${code}: ${out}${err}`);
    }
    return out!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Returns the source of the program that the client's tests run. */
export function storySource(): string {
  return Deno.readTextFileSync(`${root}tests/sdk/programs/story.ts`);
}
