// SPDX-License-Identifier: MIT
// A chart of values over time. They are step functions: a property has a value until it gets another one.
import { clock, framed, h, short } from "./dom.js"

const margin = { left: 52, right: 14, top: 12, bottom: 24 }
const hue = (index) => `--series-${1 + (index % 4)}`

export function chip(label, index, ...more) {
  const mark = h("i")
  mark.style.background = `var(${hue(index)})`
  return h("span.chip", mark, label, more)
}

function ticks(low, high, wanted) {
  const rough = (high - low) / wanted
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough)
  const first = Math.ceil(low / step)
  // By their number, as counting on changes nothing where numbers are too large for it.
  return Array.from({ length: Math.ceil(wanted) + 2 }, (_, index) => (first + index) * step)
    .filter((value) => value <= high + step * 1e-9)
}

const lengths = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800]

/**
 * `series` is a list of `{label, points: [{t, v}], band?: [{t, end, low, high}]}`, times in milliseconds, values numbers or
 * null for a hole; `span()` gives the first and the last time to show.
 */
export class Chart {
  series = []
  #pointer = null
  #colours = null
  #timer

  constructor({ label, span, height = 220, format = short, isLive = true }) {
    Object.assign(this, { span, height, format })
    this.canvas = h("canvas", { tabIndex: 0, role: "img", label,
      onpointermove: (event) => this.#point(event.offsetX), onpointerleave: () => this.#point(null),
      onkeydown: (event) => this.#press(event), onblur: () => this.#point(null) })
    this.tip = h("div.chart-tip", { role: "status", hidden: true })
    this.element = h("div.chart", this.canvas, this.tip)
    this.#observer.observe(this.element)
    // A live chart moves by itself; twice a second is enough for an axis.
    if (isLive) this.#timer = setInterval(() => { if (!document.hidden && this.element.isConnected) this.draw() }, 500)
  }

  #observer = new ResizeObserver(() => this.draw())

  stop() {
    clearInterval(this.#timer)
    this.#observer.disconnect()
  }

  draw = framed(() => this.#paint())

  #colour(name) {
    const { theme } = document.documentElement.dataset
    if (this.#colours?.theme !== theme) this.#colours = { theme, style: getComputedStyle(this.element) }
    return this.#colours.style.getPropertyValue(name).trim()
  }

  #point(x) {
    this.#pointer = x
    this.draw()
  }

  #press(event) {
    const steps = { ArrowLeft: -10, ArrowRight: 10, Home: -Infinity, End: Infinity }
    if (!(event.key in steps)) return
    event.preventDefault()
    const [first, last] = [margin.left, this.element.clientWidth - margin.right]
    this.#point(Math.min(last, Math.max(first, (this.#pointer ?? last) + steps[event.key])))
  }

  #paint() {
    const width = this.element.clientWidth
    const { height, canvas } = this
    if (width === 0) return
    const ratio = devicePixelRatio || 1
    const size = [width, height].map((length) => Math.round(length * ratio))
    if (canvas.width !== size[0] || canvas.height !== size[1]) {
      [canvas.width, canvas.height] = size
      canvas.style.height = `${height}px`
    }
    const context = canvas.getContext("2d")
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, width, height)
    const [from, to] = this.span()
    const [low, high] = this.#bounds(from, to)
    const x = (time) => margin.left + ((time - from) / (to - from)) * (width - margin.left - margin.right)
    const y = (value) => height - margin.bottom - ((value - low) / (high - low)) * (height - margin.top - margin.bottom)
    this.#axes(context, width, from, to, low, high, x, y)
    context.save()
    context.beginPath()
    context.rect(margin.left, 0, width - margin.left - margin.right + 1, height - margin.bottom + 1)
    context.clip()
    this.series.forEach((series, index) => this.#line(context, series, this.#colour(hue(index)), from, to, x, y))
    context.restore()
    this.#read(context, width, from, to)
  }

  #bounds(from, to) {
    let [low, high] = [Infinity, -Infinity]
    const see = (begin, end, least, most) => {
      if (begin > to || end < from || least === null) return
      low = Math.min(low, least)
      high = Math.max(high, most)
    }
    for (const { points, band } of this.series) {
      for (const [index, { t, v }] of points.entries()) see(t, points[index + 1]?.t, v, v)
      for (const { t, end, low, high } of band ?? []) see(t, end, low, high)
    }
    if (low > high) return [0, 1]
    const size = Math.max(Math.abs(low), Math.abs(high))
    // Numbers that hardly differ need room, too: between neighbours there is none to be divided.
    const room = high > low ? Math.max((high - low) * 0.08, size * 1e-9) : size * 0.05 || 1
    // What never is below zero has its axis there, when that is near.
    return [low >= 0 && low - room < (high - low) * 0.5 ? Math.min(low, 0) : low - room, high + room]
  }

  #axes(context, width, from, to, low, high, x, y) {
    context.font = `11px ${this.#colour("--sans")}`
    context.textAlign = "right"
    context.textBaseline = "middle"
    for (const value of ticks(low, high, Math.max(2, this.height / 55))) {
      const place = Math.round(y(value))
      context.fillStyle = this.#colour("--line")
      context.fillRect(margin.left, place, width - margin.left - margin.right, 1)
      context.fillStyle = this.#colour("--muted")
      context.fillText(this.format(value), margin.left - 8, place)
    }
    const wanted = (to - from) / 1000 / Math.max(2, width / 110)
    const step = (lengths.find((length) => length >= wanted) ?? lengths.at(-1)) * 1000
    context.textAlign = "center"
    context.textBaseline = "alphabetic"
    const zone = new Date(from).getTimezoneOffset() * 60_000
    for (let time = Math.ceil((from - zone) / step) * step + zone; time <= to; time += step) {
      const text = step >= 86_400_000 ? new Date(time).toLocaleDateString("en", { month: "short", day: "numeric" })
        : clock(time).slice(-8, step >= 60_000 ? -3 : undefined)
      const place = x(time)
      if (place > margin.left + 12 && place < width - margin.right - 10) context.fillText(text, place, this.height - 7)
    }
  }

  #line(context, { points, band }, colour, from, to, x, y) {
    if (band?.length > 0) {
      context.fillStyle = colour
      context.globalAlpha = 0.18
      for (const { t, end, low, high } of band) {
        if (low === null || t > to || end < from) continue
        context.fillRect(x(t), y(high), Math.max(1, x(Math.min(end, to)) - x(t)), Math.max(1, y(low) - y(high)))
      }
      context.globalAlpha = 1
    }
    context.strokeStyle = colour
    context.lineWidth = 1.8
    context.lineJoin = "round"
    context.beginPath()
    let isDown = false
    let last = null
    // From the last point before what is shown on.
    const first = Math.max(0, points.findLastIndex(({ t }) => t <= from))
    for (const { t, v } of points.slice(first)) {
      if (t > to) break
      if (v === null) {
        if (isDown) context.lineTo(x(t), y(last))
        isDown = false
        continue
      }
      const place = x(Math.max(t, from))
      if (isDown) context.lineTo(place, y(last))
      else context.moveTo(place, y(v))
      context.lineTo(place, y(v))
      isDown = true
      last = v
    }
    if (!isDown) return context.stroke()
    const end = x(Math.min(to, Date.now()))
    context.lineTo(end, y(last))
    context.stroke()
    context.fillStyle = colour
    context.beginPath()
    context.arc(end, y(last), 3, 0, 2 * Math.PI)
    context.fill()
  }

  #read(context, width, from, to) {
    if (this.#pointer === null || this.series.length === 0) {
      this.tip.hidden = true
      return
    }
    const place = Math.min(width - margin.right, Math.max(margin.left, this.#pointer))
    const time = from + ((place - margin.left) / (width - margin.left - margin.right)) * (to - from)
    context.fillStyle = this.#colour("--muted")
    context.fillRect(place, margin.top, 1, this.height - margin.top - margin.bottom)
    const lines = this.series.map(({ label, points }, index) => {
      const value = points.findLast(({ t }) => t <= time)?.v ?? null
      const key = h("i")
      key.style.background = `var(${hue(index)})`
      return h("div", key, h("b", value === null ? "–" : this.format(value)), ` ${label}`)
    })
    this.tip.replaceChildren(h("div.muted", clock(time)), ...lines)
    this.tip.hidden = false
    const isRight = place > width / 2
    this.tip.style.left = isRight ? "" : `${place + 10}px`
    this.tip.style.right = isRight ? `${width - place + 10}px` : ""
  }
}
