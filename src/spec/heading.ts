/** A heading of a description: one of Markdown (first group), or words in bold that begin a paragraph (second). */
export const HEADING = /^[ \t]*(?:#+ +(.+?)|\*\*([^*\n]+?)\.?\*\*.*)$/gm
