/** What is wrong with a rule set: `rule` is its id, or the place where the text cannot be read (`line:column`); empty where it is about the whole. */
export interface RuleFault { readonly rule: string; readonly problem: string }
