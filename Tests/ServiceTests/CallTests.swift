import Books
import Messages
import Testing

/// Every call has a unique kind, a sender and a receiver, and no kind is written outside the declarations.
@Suite struct CallTests {
    private static let declared = Set(Calls.all.map { $0.kind })

    @Test func noTwoCallsHaveTheSameKind() {
        let kinds = Calls.all.map { $0.kind }
        let repeated = Dictionary(grouping: kinds) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
        #expect(repeated == [])
    }

    @Test func everyCallIsAnswered() throws {
        let built = try BuiltServices()
        #expect(built.keepers == ObjectCalls.keepers)
        #expect(BookCheck.services == ObjectCalls.bookkeepers)
        let answered = built.answered.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        // The gateway itself answers one: `CodeRequests`.
        #expect(Self.declared.subtracting(answered).sorted() == [CloudCalls.ask.kind])
    }

    @Test func everythingThatIsAnsweredIsDeclared() throws {
        for (service, kinds) in try BuiltServices().answered {
            let undeclared = kinds.subtracting(Self.declared).filter { kind in
                // A service without classes also answers object calls, which no process sends.
                ObjectCalls.keepers.contains(service) || !Self.declared.contains("bag" + kind.dropFirst(service.count))
            }
            #expect(undeclared.sorted() == [], "\(service)")
        }
    }

    @Test func everyDeclarationIsInTheList() throws {
        let sources = try CallSources()
        #expect(sources.declarations.count == sources.kindsInFolder)
        let isListed = { (declaration: CallSources.Declaration) in
            declaration.isFamily
                ? Self.declared.contains { $0.hasSuffix(declaration.kind) } : Self.declared.contains(declaration.kind)
        }
        #expect(sources.declarations.filter { !isListed($0) }.map(\.kind) == [])
        #expect(!sources.declarations.isEmpty)
    }

    @Test func everyCallIsSent() throws {
        let sources = try CallSources()
        let lines = try CallSources.sendingLines()
        let unsent = sources.declarations.filter { !sources.isSent($0, by: lines) }
        #expect(unsent.map { "\($0.type).\($0.name)" } == [])
    }

    @Test func noKindIsWrittenAnywhereElse() throws {
        #expect(try CallSources.strayKinds() == [])
    }
}
