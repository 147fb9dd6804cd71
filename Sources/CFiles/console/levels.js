// SPDX-License-Identifier: MIT
// The tree of paths, of which only the levels that are open have been asked for.
import { json, query } from "./api.js"

const pageSize = 1000

class Node {
  children = null
  names = new Map()
  isOpen = false
  next
  loading = null
  problem = null

  constructor(path, parent) {
    this.path = path
    this.parent = parent
    this.name = path.slice(path.lastIndexOf("/") + 1)
    this.depth = parent ? parent.depth + 1 : 0
    this.isProperty = false
    this.isFolder = false
  }
}

export class Levels {
  root = new Node("", null)
  onchange = () => {}
  #late = new Set()

  constructor() {
    this.root.isFolder = this.root.isOpen = true
  }

  /** Asks for more of what is directly below a node. */
  load(node) { return node.loading ?? this.#begin(node, this.#load(node)) }

  /** Asks again for all that is known: what is gone was not told. */
  async reload(node = this.root) {
    await node.loading
    await this.#begin(node, this.#load(node, true))
    for (const child of node.children ?? []) {
      if (child.isOpen && child.children) this.reload(child)
      else [child.children, child.names] = [null, new Map()]
    }
  }

  #begin(node, loading) {
    node.loading = loading.catch((problem) => { node.problem = problem }).finally(() => {
      node.loading = null
      this.onchange()
    })
    return node.loading
  }

  async #load(node, isAnew) {
    node.problem = null
    const match = node.path ? `${node.path}/**` : "**"
    // What comes and goes while the page is under way may be newer than the page, and is told again after it.
    const late = []
    this.#late.add(late)
    const isFirst = isAnew || !node.children
    try {
      const page = await json(`properties${query({ match, depth: node.depth + 1, fields: "path,revision",
        limit: pageSize, after: isFirst ? undefined : node.next })}`)
      const known = node.names
      if (isFirst) [node.children, node.names] = [[], new Map()]
      for (const { path, more, revision, computed } of page.properties) {
        if (path === node.path) continue
        const child = this.#child(node, path, known)
        // Without a revision it stands for what is below it alone.
        child.isProperty = revision !== undefined
        child.isFolder = more === true
        child.isComputed = computed !== undefined
      }
      node.next = page.next
      if (node.children.length === 0 && !node.next) node.isFolder = node === this.root
    } finally {
      this.#late.delete(late)
      for (const event of late) this.#take(...event)
    }
  }

  #child(node, path, known = node.names) {
    const name = path.slice(node.path ? node.path.length + 1 : 0)
    let child = node.names.get(name)
    if (child) return child
    child = known.get(name) ?? new Node(path, node)
    node.names.set(name, child)
    const list = node.children
    let [low, high] = [0, list.length]
    if (high > 0 && list[high - 1].name < name) low = high
    while (low < high) {
      const middle = (low + high) >> 1
      if (list[middle].name < name) low = middle + 1
      else high = middle
    }
    list.splice(low, 0, child)
    return child
  }

  take(path, isThere) {
    for (const late of this.#late) late.push([path, isThere])
    this.#take(path, isThere)
  }

  #take(path, isThere) {
    if (isThere) this.#add(path)
    else this.#remove(path)
  }

  /** What is not open is asked for when it is opened. */
  #add(path) {
    let node = this.root
    const names = path.split("/")
    for (const [index, name] of names.entries()) {
      node.isFolder = true
      if (!node.children) return
      const known = node.names.get(name)
      const isBehind = node.next !== undefined && node.children.length > 0 && node.children.at(-1).name < name
      if (!known && isBehind) return
      node = known ?? this.#child(node, names.slice(0, index + 1).join("/"))
    }
    node.isProperty = true
  }

  #remove(path) {
    let node = this.root
    for (const name of path.split("/")) {
      node = node.names.get(name)
      if (!node) return
    }
    node.isProperty = false
    while (node.parent && !node.isProperty && !node.isFolder) {
      const { parent } = node
      parent.names.delete(node.name)
      parent.children.splice(parent.children.indexOf(node), 1)
      if (parent.parent && parent.children.length === 0 && parent.next === undefined) parent.isFolder = false
      node = parent
    }
  }

  toggle(node) {
    node.isOpen = !node.isOpen
    if (node.isOpen && !node.children) this.load(node)
    this.onchange()
  }

  /** What there is to show, from the top: nodes, and where more can be asked for. */
  get rows() {
    const rows = []
    const walk = (node) => {
      for (const child of node.children ?? []) {
        rows.push(child)
        if (child.isOpen && child.isFolder) walk(child)
      }
      if (node.problem) rows.push({ problem: node.problem, node, depth: node.depth + 1 })
      else if (node.next !== undefined || node.children === null) rows.push({ isMore: true, node, depth: node.depth + 1 })
    }
    walk(this.root)
    return rows
  }

  /** Opens what is above a path, as far as there is something. */
  async reveal(path) {
    let node = this.root
    for (const name of path.split("/").slice(0, -1)) {
      if (!node.children) await this.load(node)
      node = node.names.get(name)
      if (!node) return
      node.isOpen = true
    }
    if (!node.children) await this.load(node)
    this.onchange()
  }
}
