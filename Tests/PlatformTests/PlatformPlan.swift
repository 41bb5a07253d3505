import ObjectStore
import Platform
import ServiceKit

/// A service that hosts nothing but the platform.
let platformPlan = ServicePlan(
    name: "platform", classes: platformClasses,
    migrations: [
        Migration(
            1, "tables",
            platformTables + codeHookTables + stoppedJobColumns + fileBucketTables + keyedAnswerTables)
    ]
) { _ in platformRules(jobs: []) }
