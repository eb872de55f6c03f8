/** The formats that are followed, as patterns. Each gives only valid values, though not always all of them. */

const date =
  '[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))'
const time = '([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])'
const byte = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const label = '[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?'
const hex = '[0-9a-fA-F]'

/** Null: a format of numbers, whose range is that of all numbers we write or is seen to where numbers are. */
export const formats: Readonly<Record<string, string | null>> = {
  date: `^${date}$`,
  time: `^${time}$`,
  'date-time': `^${date}T${time}$`,
  duration:
    '^P([0-9]{1,9}W|[0-9]{1,9}D(T[0-9]{1,9}[HMS])?|[0-9]{1,9}[YM]|T([0-9]{1,9}H)?([0-9]{1,9}M)?[0-9]{1,9}S|T([0-9]{1,9}H)?[0-9]{1,9}M|T[0-9]{1,9}H)$',
  email: `^[a-zA-Z0-9_+-]+(\\.[a-zA-Z0-9_+-]+)*@${label}(\\.${label})+$`,
  hostname: `^${label}(\\.${label}){0,2}$`,
  ipv4: `^(${byte}\\.){3}${byte}$`,
  ipv6: `^(${hex}{1,4}:){7}${hex}{1,4}$`,
  uuid: `^${hex}{8}-${hex}{4}-${hex}{4}-${hex}{4}-${hex}{12}$`,
  uri: `^(https?|ftp)://${label}(\\.${label})*(:[0-9]{1,4})?(/[a-zA-Z0-9._~-]*)*(\\?[a-zA-Z0-9._~=&-]*)?(#[a-zA-Z0-9._~-]*)?$`,
  int32: null,
  int64: null,
  float: null,
  double: null,
}

/** The numbers that int32 allows. */
export const INT32 = { from: -(2 ** 31), to: 2 ** 31 - 1 }
