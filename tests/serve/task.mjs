// The task: a question, and two tools whose calls are recorded.

export const MODEL = "acme";
export const KEY = "unused";
export const QUESTION = "What is (2 + 3) * 4?";
export const PARAMETERS = {
  type: "object",
  properties: { a: { type: "integer" }, b: { type: "integer" } },
  required: ["a", "b"],
  additionalProperties: false,
};

/** Return the tools, and the list of the calls that they get. */
export function openTask() {
  const calls = [];
  const tool = (name, description, compute) => ({
    name,
    description,
    run: ({ a, b }) => {
      calls.push([name, { a, b }]);
      return String(compute(a, b));
    },
  });
  const tools = [
    tool("add", "Add two numbers.", (a, b) => a + b),
    tool("multiply", "Multiply two numbers.", (a, b) => a * b),
  ];
  return { calls, tools };
}
