// SPDX-License-Identifier: MIT

// The combinations of two to six sources again, with a parameter for each source.
//
// They call the ones with a parameter pack and exist for the compiler: while it type-checks the operators in the
// closure of `combineLatest(a, b, c, d, e, f).map { $0 + $1 * $2 - $3 + $4 * $5 }`, it does not know the elements of a
// pack yet, and tries all overloads of every operator. With five sources that takes seconds; with six it gives up. With
// a parameter for each source it takes milliseconds, and tests of what has to compile quickly ensure that.

/// The values of two readable sources as one tuple.
///
/// Sends like the combination of any number of readable sources does.
public func combineLatest<A: ReadableSource, B: ReadableSource>(
  _ a: A, _ b: B
) -> DerivedProperty<(A.Message, B.Message)> {
  latest(of: a, b)
}

/// The values of three readable sources as one tuple.
///
/// Sends like the combination of any number of readable sources does.
public func combineLatest<A: ReadableSource, B: ReadableSource, C: ReadableSource>(
  _ a: A, _ b: B, _ c: C
) -> DerivedProperty<(A.Message, B.Message, C.Message)> {
  latest(of: a, b, c)
}

/// The values of four readable sources as one tuple.
///
/// Sends like the combination of any number of readable sources does.
public func combineLatest<A: ReadableSource, B: ReadableSource, C: ReadableSource, D: ReadableSource>(
  _ a: A, _ b: B, _ c: C, _ d: D
) -> DerivedProperty<(A.Message, B.Message, C.Message, D.Message)> {
  latest(of: a, b, c, d)
}

/// The values of five readable sources as one tuple.
///
/// Sends like the combination of any number of readable sources does.
public func combineLatest<
  A: ReadableSource, B: ReadableSource, C: ReadableSource, D: ReadableSource, E: ReadableSource
>(
  _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
) -> DerivedProperty<(A.Message, B.Message, C.Message, D.Message, E.Message)> {
  latest(of: a, b, c, d, e)
}

/// The values of six readable sources as one tuple.
///
/// Sends like the combination of any number of readable sources does.
public func combineLatest<
  A: ReadableSource, B: ReadableSource, C: ReadableSource, D: ReadableSource, E: ReadableSource, F: ReadableSource
>(
  _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
) -> DerivedProperty<(A.Message, B.Message, C.Message, D.Message, E.Message, F.Message)> {
  latest(of: a, b, c, d, e, f)
}

/// The last messages of two sources as one tuple, each time one sends, once all have sent.
public func combineLatest<End: Ending, A: Sendable, B: Sendable>(
  messages a: any SignalSource<A, End>, _ b: any SignalSource<B, End>
) -> DerivedSignal<(A, B), End> {
  latest(ofMessages: a, b)
}

/// The last messages of three sources as one tuple, each time one sends, once all have sent.
public func combineLatest<End: Ending, A: Sendable, B: Sendable, C: Sendable>(
  messages a: any SignalSource<A, End>, _ b: any SignalSource<B, End>, _ c: any SignalSource<C, End>
) -> DerivedSignal<(A, B, C), End> {
  latest(ofMessages: a, b, c)
}

/// The last messages of four sources as one tuple, each time one sends, once all have sent.
public func combineLatest<End: Ending, A: Sendable, B: Sendable, C: Sendable, D: Sendable>(
  messages a: any SignalSource<A, End>, _ b: any SignalSource<B, End>, _ c: any SignalSource<C, End>,
  _ d: any SignalSource<D, End>
) -> DerivedSignal<(A, B, C, D), End> {
  latest(ofMessages: a, b, c, d)
}

/// The last messages of five sources as one tuple, each time one sends, once all have sent.
public func combineLatest<End: Ending, A: Sendable, B: Sendable, C: Sendable, D: Sendable, E: Sendable>(
  messages a: any SignalSource<A, End>, _ b: any SignalSource<B, End>, _ c: any SignalSource<C, End>,
  _ d: any SignalSource<D, End>, _ e: any SignalSource<E, End>
) -> DerivedSignal<(A, B, C, D, E), End> {
  latest(ofMessages: a, b, c, d, e)
}

/// The last messages of six sources as one tuple, each time one sends, once all have sent.
public func combineLatest<End: Ending, A: Sendable, B: Sendable, C: Sendable, D: Sendable, E: Sendable, F: Sendable>(
  messages a: any SignalSource<A, End>, _ b: any SignalSource<B, End>, _ c: any SignalSource<C, End>,
  _ d: any SignalSource<D, End>, _ e: any SignalSource<E, End>, _ f: any SignalSource<F, End>
) -> DerivedSignal<(A, B, C, D, E, F), End> {
  latest(ofMessages: a, b, c, d, e, f)
}

/// Two writable sources as one: setting it sets all parts in one transaction.
///
/// `modify` works as with any number of sources.
public func combine<A: WritableSource, B: WritableSource>(
  _ a: A, _ b: B
) -> WritableProperty<(A.Message, B.Message)> {
  writable(of: a, b)
}

/// Three writable sources as one: setting it sets all parts in one transaction.
///
/// `modify` works as with any number of sources.
public func combine<A: WritableSource, B: WritableSource, C: WritableSource>(
  _ a: A, _ b: B, _ c: C
) -> WritableProperty<(A.Message, B.Message, C.Message)> {
  writable(of: a, b, c)
}

/// Four writable sources as one: setting it sets all parts in one transaction.
///
/// `modify` works as with any number of sources.
public func combine<A: WritableSource, B: WritableSource, C: WritableSource, D: WritableSource>(
  _ a: A, _ b: B, _ c: C, _ d: D
) -> WritableProperty<(A.Message, B.Message, C.Message, D.Message)> {
  writable(of: a, b, c, d)
}

/// Five writable sources as one: setting it sets all parts in one transaction.
///
/// `modify` works as with any number of sources.
public func combine<A: WritableSource, B: WritableSource, C: WritableSource, D: WritableSource, E: WritableSource>(
  _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
) -> WritableProperty<(A.Message, B.Message, C.Message, D.Message, E.Message)> {
  writable(of: a, b, c, d, e)
}

/// Six writable sources as one: setting it sets all parts in one transaction.
///
/// `modify` works as with any number of sources.
public func combine<
  A: WritableSource, B: WritableSource, C: WritableSource, D: WritableSource, E: WritableSource, F: WritableSource
>(
  _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
) -> WritableProperty<(A.Message, B.Message, C.Message, D.Message, E.Message, F.Message)> {
  writable(of: a, b, c, d, e, f)
}
