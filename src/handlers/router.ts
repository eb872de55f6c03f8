import type { Handler } from '../spec/handler.ts'

export const listRouterModels: Handler<'listRouterModels'> = async (_input, { baseModels }) => ({
  status: 200,
  body: { data: [...baseModels.values()].map(model => model.router) },
})
