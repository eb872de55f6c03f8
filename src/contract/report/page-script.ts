/** What the page does: nothing but filter. Without it, everything is shown. */
export const SCRIPT = `
const buttons = [...document.querySelectorAll('button[data-shows]')]
const items = [...document.querySelectorAll('[data-outcome]')]
const status = document.querySelector('#shown')
const show = () => {
  const pressed = buttons.filter(button => button.getAttribute('aria-pressed') === 'true')
  const shown = new Set(pressed.map(button => button.dataset.shows))
  for (const item of items) item.hidden = !shown.has(item.dataset.outcome)
  status.textContent = items.filter(item => !item.hidden).length + ' of ' + items.length + ' checks shown'
}
for (const button of buttons) {
  button.addEventListener('click', () => {
    button.setAttribute('aria-pressed', String(button.getAttribute('aria-pressed') !== 'true'))
    show()
  })
}
document.querySelector('.filters').hidden = false
show()
const reveal = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!target || !target.dataset.outcome) return
  const button = buttons.find(one => one.dataset.shows === target.dataset.outcome)
  if (button.getAttribute('aria-pressed') !== 'true') button.click()
  const details = target.querySelector('details')
  if (details) details.open = true
  target.scrollIntoView()
}
addEventListener('hashchange', reveal)
reveal()
`
