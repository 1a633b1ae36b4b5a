import { serveEmbedded } from "./serve.ts";

/** The thread's module for a database without work of its own. */
serveEmbedded();
