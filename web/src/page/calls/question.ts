/**
 * The form for a question that a tool asks: which fields a JSON Schema comes to, and what value
 * they make. Schemas beyond strings, numbers, booleans and enumerations are answered in raw JSON.
 */

import { parseExact, stringifyExact } from '../../client/index.ts';

export interface Field {
  /** The property that it fills; null where the schema is of one value and not of an object. */
  name: string | null;
  label: string;
  help?: string;
  input: 'text' | 'lines' | 'number' | 'integer' | 'boolean' | 'choice';
  choices?: unknown[];
  required: boolean;
  initial?: unknown;
  least?: number;
  most?: number;
}

/** What was typed, by the place of the field. */
export type Typed = Record<number, string | boolean>;

/** A value, or what is wrong with which field. */
export type Answer = { value: unknown } | { field: number; problem: string };

const most = 40;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields of `schema`, or null where a form cannot hold what it asks for. */
export function fieldsOf(schema: unknown): Field[] | null {
  if (schema === undefined) {
    return [{ name: null, label: 'Answer', input: 'lines', required: true }];
  }
  if (!isRecord(schema)) return null;
  if (!isRecord(schema.properties)) {
    const field = fieldOf(null, schema, true);
    return field === null ? null : [field];
  }
  const names = Object.keys(schema.properties);
  if (names.length === 0 || names.length > most) return null;
  const required: unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const fields: Field[] = [];
  for (const name of names) {
    const field = fieldOf(name, schema.properties[name], required.includes(name));
    if (field === null) return null;
    fields.push(field);
  }
  return fields;
}

function fieldOf(name: string | null, schema: unknown, required: boolean): Field | null {
  if (!isRecord(schema)) return null;
  const input = inputOf(schema);
  if (input === null) return null;
  const title = typeof schema.title === 'string' ? schema.title : (name ?? 'Answer');
  const field: Field = { name, label: title, input, required };
  if (typeof schema.description === 'string') field.help = schema.description;
  if (input === 'choice') field.choices = Array.isArray(schema.enum) ? schema.enum : [schema.const];
  if (schema.default !== undefined) field.initial = schema.default;
  if (typeof schema.minimum === 'number') field.least = schema.minimum;
  if (typeof schema.maximum === 'number') field.most = schema.maximum;
  return field;
}

function inputOf(schema: Record<string, unknown>): Field['input'] | null {
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return 'choice';
  if (schema.const !== undefined) return 'choice';
  switch (schema.type) {
    case 'string':
      return typeof schema.maxLength === 'number' && schema.maxLength <= 120 ? 'text' : 'lines';
    case 'number':
      return 'number';
    case 'integer':
      return 'integer';
    case 'boolean':
      return 'boolean';
    default:
      return null;
  }
}

/** What the fields start with. */
export function initially(fields: Field[]): Typed {
  const typed: Typed = {};
  fields.forEach((field, place) => {
    if (field.input === 'boolean') typed[place] = field.initial === true;
    else if (field.input === 'choice') {
      const found = field.choices?.findIndex((choice) => sameJson(choice, field.initial)) ?? -1;
      typed[place] = found === -1 ? '' : String(found);
    } else {
      const initial = field.initial;
      typed[place] =
        typeof initial === 'string' || typeof initial === 'number' ? String(initial) : '';
    }
  });
  return typed;
}

/** The value that was typed. */
export function answerOf(fields: Field[], typed: Typed): Answer {
  const value: Record<string, unknown> = {};
  for (const [place, field] of fields.entries()) {
    const read = readField(field, typed[place] ?? '');
    if ('problem' in read) return { field: place, problem: read.problem };
    if (field.name === null) return { value: read.value };
    if (read.value !== undefined) {
      // Not an assignment: a property may be called `__proto__`.
      Object.defineProperty(value, field.name, {
        value: read.value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
  }
  return { value };
}

function readField(
  field: Field,
  typed: string | boolean,
): { value: unknown } | { problem: string } {
  if (field.input === 'boolean') return { value: typed === true };
  const text = String(typed);
  if (text.trim() === '') {
    if (!field.required) return { value: undefined };
    // An empty text is a text, but nobody gives one on purpose.
    return { problem: `${field.label} is needed.` };
  }
  if (field.input === 'choice') return { value: field.choices?.[Number(text)] };
  if (field.input !== 'number' && field.input !== 'integer') return { value: text };
  const number = Number(text);
  if (!Number.isFinite(number)) return { problem: `${field.label} is to be a number.` };
  if (field.input === 'integer' && !Number.isInteger(number)) {
    return { problem: `${field.label} is to be a whole number.` };
  }
  if (field.least !== undefined && number < field.least) {
    return { problem: `${field.label} is to be ${field.least} or more.` };
  }
  if (field.most !== undefined && number > field.most) {
    return { problem: `${field.label} is to be ${field.most} or less.` };
  }
  return { value: number };
}

/** A choice as it is shown: texts as they are, anything else as JSON. */
export function choiceText(choice: unknown): string {
  return typeof choice === 'string' ? choice : (stringifyExact(choice) ?? '');
}

function sameJson(one: unknown, other: unknown): boolean {
  return stringifyExact(one) === stringifyExact(other);
}

/** The value of raw JSON that a person typed, or what is wrong with it. */
export function parseAnswer(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: parseExact(text) };
  } catch {
    return { problem: 'This is not JSON. A text needs quotation marks: "yes".' };
  }
}
