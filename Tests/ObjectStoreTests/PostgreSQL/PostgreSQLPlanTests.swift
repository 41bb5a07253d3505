import ObjectStore
import Testing

/// The steps of PostgreSQL's plans.
@Suite struct PostgreSQLPlanTests {
    @Test func stepsHaveWhatBelongsToThemAndTheirPlace() {
        let lines = [
            "Aggregate  (cost=48.32..48.33)", "  ->  Hash Join  (cost=26.88..46.45)",
            "        Hash Cond: (a.brand = b.id)", "        ->  Seq Scan on o1 a  (cost=0.00..17.50)",
            "              Filter: (a.price > 3)", "        ->  Hash  (cost=17.50..17.50)",
            "              ->  Index Scan using o2_id on o2 b  (cost=0.00..17.50)",
            "                    Index Cond: (id = 7)", "                    Filter: open",
        ]
        #expect(
            PostgreSQLPlan(lines: lines).steps == [
                .init(id: 1, parent: 0, detail: "Aggregate  (cost=48.32..48.33)"),
                .init(id: 2, parent: 1, detail: "Hash Join  (cost=26.88..46.45); Hash Cond: (a.brand = b.id)"),
                .init(id: 3, parent: 2, detail: "Seq Scan on o1 a  (cost=0.00..17.50); Filter: (a.price > 3)"),
                .init(id: 4, parent: 2, detail: "Hash  (cost=17.50..17.50)"),
                .init(
                    id: 5, parent: 4,
                    detail: "Index Scan using o2_id on o2 b  (cost=0.00..17.50); Index Cond: (id = 7); Filter: open"),
            ])
    }

    @Test func noLinesAreNoSteps() { #expect(PostgreSQLPlan(lines: []).steps.isEmpty) }
}
