/**
 * The validators of JSON Schema, loaded when the first schema comes. A module of its own because a
 * bundler gives an `import()` of CommonJS no names.
 */
export { Ajv } from "ajv";
export { Ajv2020 } from "ajv/dist/2020.js";
