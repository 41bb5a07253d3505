import Foundation
import ObjectStore
import ParseProtocol
import ServiceSupport
import Synchronization
import Testing

/// Compares the query compiler with a slow, simple evaluator on 10,000 random documents and 10,000 random queries:
/// results, order, counts, and codes of refusals must agree. Every second class has automatic indexes. A live query
/// with the same condition must report the same objects.
@Suite struct EvaluatorTests {
    private static let seed = ProcessInfo.processInfo.environment["SATCHEL_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
    private static let classes = 40
    private static let perClass = 250
    /// More disagreements would mostly repeat the first ones.
    private static let disagreementsMax = 5
    private static let callers: [(Caller, Set<String>?)] = [
        (.master, nil), (.master, nil), (.anonymous, []), (Caller(userId: "annannanna"), ["annannanna"]),
        (Caller(userId: "bobbobbobb", roles: ["admins"]), ["bobbobbobb", "role:admins"]),
    ]

    @Test(.timeLimit(.minutes(30))) func theCompilerAndTheEvaluatorAgree() async throws {
        let fuzz = try await FuzzStore()
        var random = Seeded(Self.seed)
        var (found, refused, disagreements, indexes, live) = (0, 0, 0, 0, 0)
        let changes = Mutex<[StoredChange]>([])
        fuzz.store.watch.listen { new in changes.withLock { $0 += new } }
        fuzz.store.watch.watch(Set((0..<Self.classes).map { "Class\($0)" }))
        for number in 0..<Self.classes {
            changes.withLock { $0 = [] }
            let sample = try await RandomClass("Class\(number)", documents: Self.perClass, fuzz.store, &random)
            if !number.isMultiple(of: 2) { indexes += try await Self.index(sample, fuzz.store) }
            for _ in 0..<Self.perClass {
                let (question, caller) = self.question(sample, &random)
                let answers = await Self.answers(question, caller, sample, fuzz.store)
                guard answers.agree else {
                    let smaller = await shrunk(question, caller, sample, fuzz.store)
                    let shown = await Self.answers(smaller, caller, sample, fuzz.store)
                    Issue.record(
                        """
                        seed \(Self.seed), class \(number), \(smaller.condition.serializedText) order \
                        \(smaller.order) limit \(smaller.limit) skip \(smaller.skip) as \
                        \(caller.userId ?? "master or nobody"): \(shown.difference(sample))
                        """
                    )
                    disagreements += 1
                    if disagreements == Self.disagreementsMax { return }
                    continue
                }
                if case .success(let answer) = answers.expected { found += min(1, answer.count) } else { refused += 1 }
                guard let told = try Self.told(question, caller, sample.name, changes.withLock { $0 }) else { continue }
                live += 1
                guard case .success(let page) = answers.found, told != Set(page.ids) else { continue }
                Issue.record(
                    """
                    seed \(Self.seed), class \(number), live \(question.condition.serializedText) as \
                    \(caller.userId ?? "master or nobody"): \(told.symmetricDifference(page.ids).sorted().prefix(8))
                    """
                )
                disagreements += 1
                if disagreements == Self.disagreementsMax { return }
            }
        }
        print(
            """
            evaluator: \(Self.classes * Self.perClass) queries, \(found) found something, \(refused) were refused, \
            seed \(Self.seed)
            """
        )
        #expect(indexes > Self.classes, "Some queries must go through indexes.")
        #expect(found > 4000, "The queries must be about what there is.")
        #expect(refused > 200, "The queries must be about what there is.")
        #expect(live > 4000, "The same must hold for who waits for changes.")
    }

    /// The objects that a subscriber would have received when they were created. Nil for a refused query, and for a
    /// query with a limit or skip.
    private static func told(
        _ question: Evaluator.Question, _ caller: Caller, _ className: String, _ changes: [StoredChange]
    ) throws -> Set<String>? {
        guard question.limit == 1000, question.skip == 0,
            let query = try? LiveQuery(
                className: className, condition: question.condition.serialized, keys: ["objectId"], watch: [])
        else { return nil }
        let matcher = LiveMatcher(clock: { 0 })
        try matcher.add(.init(id: 1, caller: caller, client: 0), to: query)
        var told: Set<String> = []
        for change in changes {
            let outcome = matcher.outcome(of: change)
            // The matcher need not refuse every query that the compiler refuses.
            guard outcome.ended.isEmpty else { return nil }
            if !outcome.events.isEmpty { told.insert(change.objectId) }
        }
        return told
    }

    /// Creates automatic indexes of the class's simple fields.
    /// - Returns: their number.
    private static func index(_ sample: RandomClass, _ store: ClassStore) async throws -> Int {
        let name = sample.name
        let simple = sample.keys.filter { key in
            [ValueKind.string, .number, .boolean, .date, .pointer].contains(key.kind) && !key.name.contains(".")
        }.map(\.name)
        for (first, second) in zip(simple, simple.dropFirst()) {
            for fields in [[first], [second, first]] {
                var index = Dictionary(uniqueKeysWithValues: fields.map { ($0, JSON.int(1)) })
                if fields.count > 1 { index["_order"] = .array(fields.map(JSON.string)) }
                let wish: JSON = ["indexes": .object(["auto_" + fields.joined(separator: "_"): .object(index)])]
                // Fails for an unknown field and for an id, which need no index.
                try? await store.write { _ = try $0.changeClass(name, wish, keeping: []) }
            }
        }
        var ready = 0
        while true {
            switch try await store.stepIndexes() {
            case .nothing: return ready
            case .ready: ready += 1
            case .rows, .dropped, .unfit, .later: break
            }
        }
    }

    private func question(_ sample: RandomClass, _ random: inout Seeded) -> (Evaluator.Question, Caller) {
        let (caller, grants) = random.pick(Self.callers)
        var queries = RandomQuery(fields: sample.keys, values: sample.values, faults: 4)
        var question = Evaluator.Question(condition: queries.condition(&random), grants: grants)
        for _ in 0..<random.below(4) {
            let (sign, key) = (random.chance(50) ? "-" : "", random.pick(sample.keys))
            question.order.append(sign + key.name)
        }
        if random.chance(1) { question.order.append("a b") }
        question.limit = random.chance(70) ? 1000 : random.below(20)
        question.skip = random.chance(70) ? 0 : random.below(20)
        return (question, caller)
    }

    // MARK: Both sides

    struct Answers {
        var expected: Result<Evaluator.Answer, Evaluator.Refused>
        var found: Result<Evaluator.Answer, Evaluator.Refused>
        var agree: Bool

        func difference(_ sample: RandomClass) -> String {
            guard case .success(let expected) = expected, case .success(let found) = found else {
                return "expected \(expected), found \(found)"
            }
            let strangers = Set(expected.ids).symmetricDifference(found.ids).sorted()
            let rows = sample.evaluator.documents.filter { strangers.contains($0["objectId"]?.stringValue ?? "") }
            return
                "expected \(expected.count) \(expected.ids.prefix(8)), found \(found.count) "
                + "\(found.ids.prefix(8)); for example "
                + rows.prefix(2).map(\.serializedText).joined(separator: "\n")
        }
    }

    private static func answers(
        _ question: Evaluator.Question, _ caller: Caller, _ sample: RandomClass, _ store: ClassStore
    ) async -> Answers {
        let expected: Result<Evaluator.Answer, Evaluator.Refused>
        do {
            expected = .success(try sample.evaluator.answer(question))
        } catch {
            expected = .failure(error as? Evaluator.Refused ?? .init(code: 0))
        }
        let query = Query(
            className: sample.name, where: question.condition.serialized, order: question.order, limit: question.limit,
            skip: question.skip, wantsCount: true)
        let found: Result<Evaluator.Answer, Evaluator.Refused>
        do {
            let page = try await store.read { try $0.find(query, caller: caller).body }
            let body = try JSON(parsing: page)
            let ids = body["results"]?.arrayValue?.compactMap { $0["objectId"]?.stringValue } ?? []
            found = .success(.init(ids: ids, count: Int(body["count"]?.intValue ?? -1)))
        } catch {
            found = .failure(.init(code: (error as? ParseError)?.code.rawValue ?? -1))
        }
        return Answers(expected: expected, found: found, agree: agree(expected, found, question, sample))
    }

    private static func agree(
        _ expected: Result<Evaluator.Answer, Evaluator.Refused>, _ found: Result<Evaluator.Answer, Evaluator.Refused>,
        _ question: Evaluator.Question, _ sample: RandomClass
    ) -> Bool {
        guard case .success(let wanted) = expected, case .success(let got) = found else {
            if case .failure(let wanted) = expected, case .failure(let got) = found { return wanted == got }
            return false
        }
        guard wanted != got, let near = NearSearch(question.condition) else { return wanted == got }
        // Places at equal distances, within the precision of a double, may come in either order.
        func distance(_ id: String) -> Double {
            sample.evaluator.documents.first { $0["objectId"] == .string(id) }.map(near.distance) ?? -1
        }
        return wanted.count == got.count && wanted.ids.count == got.ids.count && Set(got.ids).count == got.ids.count
            && zip(wanted.ids, got.ids).allSatisfy { $0 == $1 || (distance($0) - distance($1)).magnitude < 1e-9 }
    }

    // MARK: Shrinking

    /// Simplifies the query while the disagreement remains.
    private func shrunk(
        _ question: Evaluator.Question, _ caller: Caller, _ sample: RandomClass, _ store: ClassStore
    ) async -> Evaluator.Question {
        var smallest = question
        var isSmaller = true
        while isSmaller {
            isSmaller = false
            var candidates = Self.smaller(smallest.condition).map { condition -> Evaluator.Question in
                var candidate = smallest
                candidate.condition = condition
                return candidate
            }
            for index in smallest.order.indices {
                var candidate = smallest
                candidate.order.remove(at: index)
                candidates.append(candidate)
            }
            for candidate in candidates where await !Self.answers(candidate, caller, sample, store).agree {
                smallest = candidate
                isSmaller = true
                break
            }
        }
        return smallest
    }

    /// The value with one member or element removed, anywhere.
    private static func smaller(_ value: JSON) -> [JSON] {
        switch value {
        case .object(let members):
            members.flatMap { key, member -> [JSON] in
                [.object(members.filter { $0.key != key })]
                    + smaller(member).map { .object(members.merging([key: $0]) { $1 }) }
            }
        case .array(let elements):
            elements.indices.flatMap { index -> [JSON] in
                var fewer = elements
                fewer.remove(at: index)
                return [.array(fewer)]
                    + smaller(elements[index]).map {
                        var changed = elements
                        changed[index] = $0
                        return .array(changed)
                    }
            }
        default: []
        }
    }
}
